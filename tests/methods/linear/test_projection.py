import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.learning import scaling as scalings
from crossmodal.methods._linear.inputs import InputOptions, Inputs, paired_inputs
from crossmodal.methods._linear.projection import ScaledProjection, usable_dims


class Given(ScaledProjection):
    """Takes its maps instead of learning them."""

    Options = InputOptions

    def __init__(self, maps, **options):
        super().__init__(**options)
        self.maps = maps

    def fit(self, train, validation, run):
        self.keep(paired_inputs(train, self.scaling), self.maps)


@pytest.mark.parametrize("scaling", ["centre", "zscore", "l2-centre"])
def test_unseen_rows_are_standardised_as_the_training_rows(rng, make_split, monkeypatch, scaling):
    monkeypatch.setattr(scalings, "ROWS_PER_BLOCK", 4)
    train = {"image": rng.standard_normal((9, 3)) + 2, "text": rng.standard_normal((9, 2))}
    maps = {m: rng.standard_normal((x.shape[1], 2)) for m, x in train.items()}
    method, split = Given(maps, scaling=scaling), make_split(train)
    method.fit(split, split, None)
    standardised = paired_inputs(split, scaling)
    for modality, x in train.items():
        found = method.embed(modality, make_split({modality: x[[7, 2]]}).views[modality])
        expected = standardised[modality][:9][[7, 2]] @ maps[modality]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_message_names_run_views_and_what_is_possible():
    views = {"image": None, "text": None}
    assert usable_dims("run", 3, 3, views) == 3
    message = "run: dims is 4, but image and text have only 3 common directions; 3 are used"
    with pytest.warns(UserWarning, match=message):
        assert usable_dims("run", 4, 3, views) == 3
    rows = np.random.default_rng(0).standard_normal((5, 2))
    views = {m: Inputs(rows, "centre", np.arange(5)) for m in views}
    message = "run: image and text have no common directions; choose"
    with pytest.raises(CrossmodalError, match=message):
        usable_dims("run", 4, 0, views)
    views["text"] = Inputs(np.full((5, 2), 0.1), "zscore", np.arange(5))
    with pytest.raises(CrossmodalError, match="directions: all rows of text are equal; choose"):
        usable_dims("run", 4, 0, views)
