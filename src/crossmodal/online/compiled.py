"""How the kernels are compiled, and what they share."""

import hashlib
from pathlib import Path

import numpy as np
from numba import config, njit

# numba notices a change of a kernel's own file only, so all kernels' source names the folder
_sources = sorted(Path(__file__).parent.glob("*.py"))
_hash = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
config.CACHE_DIR = str(Path(__file__).parent / "__pycache__" / f"kernels-{_hash}")

# sums may be reordered, which lets them run in SIMD lanes; NaN and infinity keep their meaning
compiled = njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@compiled
def dot(left: np.ndarray, right: np.ndarray) -> float:
    """Inner product of two vectors of one length, in the precision of the left one."""
    total = left.dtype.type(0)
    for i in range(len(left)):
        total += left[i] * right[i]
    return total
