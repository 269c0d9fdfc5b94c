"""Caption pipelines, VASE and VSE++ learn the same by three processes as by one."""

from functools import partial

import numpy as np
import pytest

from crossmodal.methods.multimodal_embedding import MultimodalEmbedding
from crossmodal.methods.vase import VASE
from crossmodal.methods.vse_finetuned import VSEFinetuned
from tests.methods.captions import captioned_files, random_captions
from tests.methods.spoken import FRAMES, OWNERS, image_files, make_split, noise, sentences
from tests.methods.test_multimodal_embedding import LOSSES, OPTIONS
from tests.methods.test_vase import FILES, SMALL
from tests.methods.test_vse_finetuned import OPTIONS as FINETUNED
from tests.team import first_step, fit

pytestmark = pytest.mark.usefixtures("cpu")

VASES = {
    "features": SMALL | {"batch": 4, "epochs": 2},
    "residual": SMALL | {"batch": 8, "epochs": 2, "speech_network": "resdavenet"},
    "padding read": SMALL | {"batch": 4, "epochs": 2, "reads_padding": True},
    "files": FILES | {"batch": 8, "epochs": 1, "finetuning_epochs": 1, "trim": True},
}


@pytest.fixture
def captioned(make_split):
    return partial(random_captions, make_split)


def assert_same(found, expected, tolerance=1e-5):
    """Numbers, or arrays by name, of several processes and of one."""
    for one in found:
        assert one.keys() == expected.keys()
        for name, value in expected.items():
            scale = max(1, np.abs(value).max())
            np.testing.assert_allclose(
                one[name], value, rtol=0, atol=tolerance * scale, err_msg=name
            )


def assert_same_fits(found, expected, tolerance=1e-5):
    curve, state = expected
    assert_same([state for _, state in found], state, tolerance)
    for row, *others in zip(curve, *(curve for curve, _ in found), strict=True):
        assert_same(others, row, tolerance)


def spoken(options, rng):
    if options["image_network"]:
        return make_split(image_files(rng, 5), noise(rng, FRAMES), OWNERS)
    images = rng.standard_normal((5, 12)).astype(np.float32)
    return make_split(images, noise(rng, FRAMES), OWNERS, sentences(rng, len(OWNERS)))


@pytest.mark.parametrize("changes", LOSSES.values(), ids=LOSSES)
def test_captions(team, captioned, changes):
    options = OPTIONS | {"batch": 15} | changes
    train, validation = captioned(0), captioned(1)
    loss, gradients = first_step(MultimodalEmbedding(**options), train)
    for found, theirs in team.call(first_step, MultimodalEmbedding(**options), train):
        assert found == pytest.approx(loss, rel=1e-5)
        assert_same([theirs], gradients)
    found = team.call(fit, MultimodalEmbedding(**options), train, validation)
    assert_same_fits(found, fit(MultimodalEmbedding(**options), train, validation))


SLOW = {"files": pytest.mark.long}  # an image network learns


@pytest.mark.parametrize(
    "options",
    [pytest.param(VASES[name], id=name, marks=SLOW.get(name, ())) for name in VASES],
)
def test_vase(team, rng, options):
    split = spoken(options, rng)
    # batch norms in a row, of a few narrow channels, magnify what is rounded
    tolerance = 1e-4 if options["speech_network"] == "resdavenet" else 1e-5
    loss, gradients = first_step(VASE(**options), split)
    for found, theirs in team.call(first_step, VASE(**options), split):
        assert found == pytest.approx(loss, rel=1e-5)
        assert_same([theirs], gradients, tolerance)
    found = team.call(fit, VASE(**options), split, split)
    assert_same_fits(found, fit(VASE(**options), split, split), tolerance)


@pytest.mark.long  # an image network learns
def test_vse_finetuned(team, rng):
    options, split = FINETUNED | {"batch": 9}, captioned_files(rng)
    found = team.call(fit, VSEFinetuned(**options), split, split)
    assert_same_fits(found, fit(VSEFinetuned(**options), split, split))


@pytest.mark.parametrize("first", [1, 2])
def test_a_fit_resumes_with_another_number_of_processes(team, captioned, tmp_path, first):
    options = OPTIONS | {"epochs": 4}
    train, validation = captioned(0), captioned(1)
    expected = fit(MultimodalEmbedding(**options), train, validation)
    half = (MultimodalEmbedding(**options), train, validation, tmp_path, 2)
    rest = (MultimodalEmbedding(**options), train, validation, tmp_path)
    if first == 1:
        fit(*half)
        found = team.call(fit, *rest)
    else:
        team.call(fit, *half)
        found = [fit(*rest)]
    assert_same_fits(found, expected)


def test_a_fit_of_two_processes_resumes_exactly(team, captioned, tmp_path):
    train, validation = captioned(0), captioned(1)

    def call(*further):
        method = MultimodalEmbedding(**OPTIONS | {"epochs": 4})
        return team.call(fit, method, train, validation, *further)

    expected = call()
    call(tmp_path, 2)
    for (curve, state), (wanted, kept) in zip(call(tmp_path), expected, strict=True):
        assert curve == wanted
        for name, value in kept.items():
            np.testing.assert_array_equal(state[name], value)
