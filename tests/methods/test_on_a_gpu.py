"""Whole fits on a GPU, and the same on the processor: what is special about a GPU is only where."""

import math

import numpy as np
import pytest
import torch

from crossmodal.learning.method import Run
from crossmodal.methods.matchmap import Matchmap
from crossmodal.methods.vase import VASE
from crossmodal.methods.vse_finetuned import VSEFinetuned
from crossmodal.repeatability import use_deterministic_algorithms
from tests.methods.captions import captioned_files
from tests.methods.spoken import FRAMES, OWNERS, image_files, make_split, noise, sentences
from tests.methods.test_matchmap import SMALL as MISA
from tests.methods.test_vase import FILES
from tests.methods.test_vse_finetuned import OPTIONS as FINETUNED

SPEED = {"epochs": 2, "learning_rate": 1e-3, "batch": 5}
FITS = {
    "vase": (VASE, FILES | SPEED | {"finetuning_epochs": 2}),
    "vse_finetuned": (VSEFinetuned, FINETUNED | SPEED | {"finetuning_epochs": 2}),
    "misa": (
        Matchmap,
        MISA | SPEED | {"image_network": "squeezenet1_1", "image_weights": "random", "trim": True},
    ),
}


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def there(request, monkeypatch):
    """Where networks live in this test: on the processor, or on the GPU if there is one."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: request.param == "cuda")
    use_deterministic_algorithms(True)
    yield request.param
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def here(monkeypatch):
    """Go back to the processor."""
    return lambda: monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture(params=FITS)
def fit(request, rng, with_small_crops):
    """Fit one of the methods on five images of 32 pixels and nine captions, spoken or written."""
    with_small_crops("squeezenet1_1")
    kind, options = FITS[request.param]
    if request.param == "vse_finetuned":
        split = captioned_files(rng)
    else:
        texts = sentences(rng, len(OWNERS)) if request.param == "vase" else None
        split = make_split(image_files(rng, 5), noise(rng, FRAMES), OWNERS, texts)

    def run(checkpoints=None, kind=kind, threads=1):
        method, circumstances = kind(**options), Run(0, checkpoints, threads=threads)
        method.fit(split, split, circumstances)
        return method, circumstances.curve, split

    run.kind = kind
    return run


def test_resumed_fit_has_equal_numbers_also_with_workers(there, fit, tmp_path, monkeypatch):
    monkeypatch.setattr("crossmodal.io.snapshots.SHARE", math.inf)
    whole, curve, _ = fit()
    assert [row.get("phase", 0) for row in curve] == [0, 0, 1, 1][: len(curve)]

    class Killed(fit.kind):
        def batches(self, epoch, rng):
            if (self.phase, epoch) == (len(self.schedule.phases) - 1, 1):
                raise KeyboardInterrupt
            return super().batches(epoch, rng)

    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, Killed)
    resumed, again, _ = fit(tmp_path, threads=3)
    assert again == curve
    for name, value in resumed.state().items():
        np.testing.assert_array_equal(value, whole.state()[name], err_msg=name)


def test_training_and_embeddings_agree_with_the_processor(there, fit, here):
    method, curve, split = fit()
    assert {p.device.type for p in method.network.parameters()} == {there}
    retrieved = [*split.views][:2]
    found = {m: method.embed(m, split.views[m]) for m in retrieved}
    here()
    _, expected, _ = fit()
    first = curve[0]["loss"], expected[0]["loss"]
    assert first[0] == pytest.approx(first[1], rel=0.02)
    same = fit.kind(**method.options.model_dump())
    same.restore(method.state(), split.views)
    for modality, rows in found.items():
        assert rows.dtype == np.float32
        other = same.embed(modality, split.views[modality])
        inside = ~np.isnan(other)
        cosine = np.corrcoef(rows[inside], other[inside])[0, 1]
        assert cosine > 0.999
