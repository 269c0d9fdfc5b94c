"""So that a job computes the same numbers each time: one thread, and deterministic algorithms.

A sum that is split among threads is rounded otherwise, so results would depend on their number.
What is worked on at the same time are jobs, and pieces of a job that do not depend on each other.
"""

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Say so to NumPy's, SciPy's and PyTorch's libraries, which ask when they are loaded."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))


def use_deterministic_algorithms(wanted: bool | None) -> None:
    """Let a GPU compute the same numbers each time, or the faster way; a processor always does.

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
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing here reads such memory
