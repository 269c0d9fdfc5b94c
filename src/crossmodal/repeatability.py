"""Reproducibility of a job: threads, vector instructions, deterministic GPU kernels.

A sum that is split among threads, or added in vectors of another length, is rounded differently, so
results would depend on the number of threads and on the processor. Jobs, and independent parts of a
job, run in parallel instead of threads.
"""

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# each library's own name of x86-64 with AVX2 and FMA; MKL has none that other makers' processors
# heed; NumPy is told what not to use, by its names since version 2.4 and before
PORTABLE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX",
}


def use_one_thread() -> None:
    """Set one thread for the libraries of NumPy, SciPy and PyTorch, before they are loaded."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))


def use_portable_instructions() -> None:
    """Let the libraries of all processes that follow use no vector instructions beyond AVX2.

    They read these variables when they are loaded. Processors that are no x86-64 have none of these
    instructions, and their results stay their own.
    """
    os.environ.update(PORTABLE)


def use_deterministic_algorithms(wanted: bool | None) -> None:
    """Choose deterministic or faster algorithms of a GPU; those of a CPU are deterministic.

    Args:
        wanted: `deterministic` of params.yaml; None for a job that makes no use of a GPU, and need
            not wait for PyTorch.
    """
    if wanted is None:
        return
    import torch

    if not torch.cuda.is_available():
        return
    # cuBLAS reads it when it is first used
    if wanted:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    else:
        os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
    torch.use_deterministic_algorithms(wanted)
    # nothing here reads such memory; a property of the module, which stubs do not have
    setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010
