import os
import platform
import subprocess
import sys

import pytest
import torch

from crossmodal.repeatability import (
    PORTABLE,
    use_deterministic_algorithms,
    use_portable_instructions,
)

COUNT = """
import sys
from crossmodal import cli
cli.app = lambda: None
cli.main()
import torch, threadpoolctl, numpy.linalg, scipy.linalg
pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
assert pools
print(torch.get_num_threads(), *pools)
"""


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"])
def test_command_uses_one_thread_in_any_environment(variable):
    result = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, variable: "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(result.stdout.split()) == {"1"}


INSTRUCTIONS = """
import numpy.linalg, scipy.linalg, torch, threadpoolctl
print(torch.backends.cpu.get_cpu_capability())
print(*{p["architecture"] for p in threadpoolctl.threadpool_info() if "architecture" in p})
print(*numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", ["X86_V3"])[-1:])
import numba
print(numba.core.codegen.JITCPUCodegen("test")._get_host_cpu_name())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64 processors")
def test_portable_instructions_are_those_of_avx2(monkeypatch):
    for name in PORTABLE:
        monkeypatch.setenv(name, "")
    use_portable_instructions()
    command = [sys.executable, "-c", INSTRUCTIONS]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    assert lines[0] == "AVX2"
    assert lines[1] == "Haswell"
    assert lines[2] == "X86_V3"
    assert "haswell" in lines[3]


@pytest.fixture
def gpu(monkeypatch):
    """PyTorch says that it has a GPU; its settings are reset afterwards."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


@pytest.mark.parametrize("wanted", [True, False])
def test_gpu_is_deterministic_where_requested(gpu, wanted):
    torch.use_deterministic_algorithms(not wanted)
    use_deterministic_algorithms(wanted)
    assert torch.are_deterministic_algorithms_enabled() == wanted
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == (":4096:8" if wanted else None)


def test_a_processor_is_left_as_it_is(cpu):
    use_deterministic_algorithms(True)
    assert not torch.are_deterministic_algorithms_enabled()


LIGHT = """
import sys
from crossmodal.steps import embed, evaluate, evaluate_intra_modal, extract, train
from crossmodal.methods import cca, cmolrs, ridge
from crossmodal.features import bow, fc7, fne, tokens
from crossmodal.commands import check, init
from crossmodal.steps import prepare, tabulate
from crossmodal.io.provenance import provenance
from crossmodal.training.processes import broadcast_from_first, joined
from crossmodal.repeatability import use_deterministic_algorithms
use_deterministic_algorithms(None)
with joined():
    broadcast_from_first(lambda: provenance("", {}))
print("torch" in sys.modules)
"""
REPORTS = """
import sys
from crossmodal.steps import average_curves, draw, merge, tabulate, tabulate_unfinished
from crossmodal.workflow import drawings, jobs, requests
print("scipy.stats" in sys.modules)
"""
EVALUATION = """
import sys
from crossmodal.methods import cca
from crossmodal.steps import embed, evaluate
print("sklearn" in sys.modules)
"""
SLOW = {LIGHT: "PyTorch", REPORTS: "SciPy's statistics", EVALUATION: "scikit-learn"}


@pytest.mark.parametrize("script", SLOW, ids=SLOW.values())
def test_slow_libraries_are_loaded_where_used(script):
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr
