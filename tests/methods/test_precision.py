"""What `precision: bfloat16` promises of each method that has it."""

import math

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.io import snapshots
from crossmodal.learning.method import Run
from tests.methods import spoken
from tests.methods.captions import captioned_files, random_captions
from tests.methods.test_determinism import options

pytestmark = pytest.mark.usefixtures("cpu")

ON_MATRICES, ON_WORDS = ["embedding_network", "sam"], ["multimodal_embedding", "w2vv"]
ON_FILES, ON_SPEECH = ["vse_finetuned"], ["matchmap", "vase"]
NAMES = sorted([*ON_MATRICES, *ON_WORDS, *ON_FILES, *ON_SPEECH])


@pytest.fixture(autouse=True)
def _small(with_small_crops):
    with_small_crops("squeezenet1_1")


@pytest.fixture
def split_of(make_split, classes, rng):
    """A function that makes the split of a method."""

    def make(name):
        if name in ON_MATRICES:
            return classes(0)
        if name in ON_WORDS:
            return random_captions(make_split, 0)
        if name in ON_FILES:
            return captioned_files(rng)
        texts = spoken.sentences(rng, len(spoken.OWNERS)) if name == "vase" else None
        images = rng.standard_normal((5, 20)).astype(np.float32)
        return spoken.make_split(images, spoken.noise(rng, spoken.FRAMES), spoken.OWNERS, texts)

    return make


def made(name, precision="bfloat16"):
    chosen = options(name, "SMALL" if name in ON_SPEECH else "OPTIONS") | {"precision": precision}
    chosen |= {key: 3 for key in ("epochs", "finetuning_epochs") if key in chosen}
    return plugins.make("methods", name, chosen, name)


def test_the_methods_that_have_a_precision():
    names = plugins.names("methods")
    fields = {n: plugins.load("methods", n).Options.model_fields for n in names}
    assert [n for n in names if "precision" in fields[n]] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_are_float32_and_near(name, split_of):
    split = split_of(name)
    narrow, single = made(name), made(name, "float32")
    single.fit(split, split, Run(seed=0))
    narrow.restore(single.state(), split.views)
    for modality in [*split.views][:2]:
        found, expected = (m.embed(modality, split.views[modality]) for m in (narrow, single))
        assert found.dtype == np.float32
        apart = np.linalg.norm(np.nan_to_num(found - expected))
        assert apart <= 0.03 * np.linalg.norm(np.nan_to_num(expected))
        # images are their features there, or mapped by what the score multiplies
        assert apart > 0 or (modality == "image" and name in ("w2vv", "matchmap"))


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_run_resumes_to_the_same_result(name, split_of, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "SHARE", math.inf)  # one after every epoch
    split, whole = split_of(name), made(name)
    curve = []
    whole.fit(split, split, Run(0, curve=curve))
    stopped = made(name)
    batches = stopped.batches

    def stop(epoch, rng):
        if epoch == 2:
            raise KeyboardInterrupt
        return batches(epoch, rng)

    monkeypatch.setattr(stopped, "batches", stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(split, split, Run(0, tmp_path))
    resumed, run = made(name), Run(0, tmp_path)
    resumed.fit(split, split, run)
    assert run.curve == curve
    for key, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[key], value)
