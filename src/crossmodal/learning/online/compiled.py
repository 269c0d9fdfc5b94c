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


@compiled
def expand(factor: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Product (d,) of a matrix (d, k) with a k-vector."""
    result = np.empty(len(factor), factor.dtype)
    for i in range(len(factor)):
        result[i] = dot(factor[i], coordinates)
    return result


@compiled
def project(factor: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Product (k,) of a transposed matrix (d, k) with a d-vector."""
    result = np.zeros(factor.shape[1], factor.dtype)
    for i in range(len(factor)):
        for j in range(len(result)):
            result[j] += factor[i, j] * vector[i]
    return result
