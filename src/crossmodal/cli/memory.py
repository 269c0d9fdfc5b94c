"""Memory that a job frees, and soon needs again."""

import ctypes
import sys

# parameters of glibc's mallopt, and their values in bytes
M_TRIM_THRESHOLD, KEPT = -1, 512 * 2**20
M_MMAP_THRESHOLD, LARGE = -3, 32 * 2**20  # the most that it takes


def keep_freed_memory() -> None:
    """Let the C library keep up to half a GiB that is freed, where it is glibc.

    By default it hands arrays back to the kernel, which clears each page when the next step of a
    training takes it again.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # not in musl
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_TRIM_THRESHOLD, KEPT)
