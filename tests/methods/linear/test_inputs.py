import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.learning import scaling
from crossmodal.learning.scaling import Scaling
from crossmodal.methods._linear.inputs import Inputs, paired_inputs, paired_labels


@pytest.fixture
def features(rng):
    return rng.standard_normal((50, 4)) * [1, 2, 3, 4] + 5


@pytest.mark.parametrize("size", [7, 4096])
@pytest.mark.parametrize("kind", ["centre", "zscore", "l2-centre"])
def test_rows_agree_with_scaling_in_one_block(features, monkeypatch, size, kind):
    expected = Scaling.fit(kind, [features]).transform(features)
    monkeypatch.setattr(scaling, "ROWS_PER_BLOCK", size)
    view = Inputs(features, kind, np.arange(50))
    np.testing.assert_allclose(view.project(np.eye(4)), expected, atol=1e-12)
    np.testing.assert_allclose(view[10:13], expected[10:13], atol=1e-12)
    np.testing.assert_array_equal(view.every(), view[:])
    np.testing.assert_array_equal(view.every(np.float32, slice(1, 3)), view[:].astype("f")[:, 1:3])


def test_statistics_of_chosen_rows_in_double_precision(features):
    rows = np.array([3, 3, 8])
    view = Inputs(features.astype(np.float32), "centre", rows)
    assert view[:3].dtype == np.float64
    expected = features.astype(np.float32).astype(np.float64)[rows]
    np.testing.assert_allclose(view[:3], expected - expected.mean(axis=0), atol=1e-15)


def test_pairs_captions_with_their_image_and_labels(make_split, rng):
    image, text = rng.standard_normal((4, 2)), rng.standard_normal((8, 3))
    labels = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    split = make_split({"image": image, "text": text}, labels)
    views = paired_inputs(split, "centre")
    np.testing.assert_allclose(views["image"][:8] + image.mean(axis=0), image.repeat(2, axis=0))
    np.testing.assert_allclose(views["text"][:8] + text.mean(axis=0), text)
    expected = labels.repeat(2, axis=0) - labels.mean(axis=0)
    np.testing.assert_allclose(paired_labels(split)[:8], expected)


@pytest.mark.parametrize("width", [0, 3])
def test_labels_required(make_split, rng, width):
    split = make_split({"image": rng.standard_normal((4, 2))}, np.zeros((4, width)))
    with pytest.raises(CrossmodalError, match="learns from labels"):
        paired_labels(split)
