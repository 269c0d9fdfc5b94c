import os

import pytest
import torch

from crossmodal.device import use_deterministic_algorithms


@pytest.fixture
def gpu(monkeypatch):
    """PyTorch says that it has a GPU; its settings are reset afterwards."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


@pytest.mark.parametrize("wanted", [True, False])
def test_a_gpu_uses_deterministic_algorithms_where_they_are_wanted(gpu, wanted):
    torch.use_deterministic_algorithms(not wanted)
    use_deterministic_algorithms(wanted)
    assert torch.are_deterministic_algorithms_enabled() == wanted
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == (":4096:8" if wanted else None)


def test_a_processor_is_left_as_it_is(cpu):
    use_deterministic_algorithms(True)
    assert not torch.are_deterministic_algorithms_enabled()
