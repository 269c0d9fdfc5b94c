"""Reproducibility of a job: one thread per library, deterministic GPU kernels.

A sum that is split among threads is rounded differently, so results would depend on their number.
Jobs, and independent parts of a job, run in parallel instead.
"""

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Set one thread for the libraries of NumPy, SciPy and PyTorch, before they are loaded."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))


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
