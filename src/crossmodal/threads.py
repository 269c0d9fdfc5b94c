"""One thread for all arithmetic of a job, however many processors a machine has.

A sum that is split among threads is rounded otherwise, so results would depend on their number.
What is worked on at the same time are jobs, and pieces of a job that do not depend on each other.
"""

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def use_one_thread() -> None:
    """Say so to NumPy's, SciPy's and PyTorch's libraries, which ask when they are loaded."""
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
