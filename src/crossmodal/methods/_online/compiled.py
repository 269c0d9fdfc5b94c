"""Compilation of the kernels, and functions that they share."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numba import config, njit

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

Function = TypeVar("Function", bound=Callable[..., object])

HERE = Path(__file__).parent
# numba's own variable, beside the sources, the user's cache: an image may have none of them
PLACES: tuple[str | Path, ...] = (
    os.environ.get("NUMBA_CACHE_DIR", ""),
    HERE / "__pycache__",
    Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "crossmodal"),
)


def cache(places: Iterable[str | Path]) -> str:
    """Return a folder for compiled kernels in the first place that can be written; "" for none."""
    # numba notices a change of a kernel's own file only, so all kernels' source names the folder
    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")))
    name = f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"
    for place in (place for place in places if place):
        with suppress(OSError, RuntimeError):  # the latter without a home
            folder = Path(place).expanduser() / name
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return str(folder)
    return ""


CACHE = cache(PLACES)
config.CACHE_DIR = CACHE  # type: ignore[attr-defined]  # numba sets its variables at run time
# sums may be reordered, which lets them run in SIMD lanes; NaN and infinity keep their meaning
FAST = {"reassoc", "contract", "nsz"}


def compiled(function: Function) -> "Dispatcher[Function]":
    """Compile a function at its first call, and store it in the cache."""
    return njit(function, cache=bool(CACHE), error_model="numpy", fastmath=FAST)


@compiled
def dot(left: np.ndarray, right: np.ndarray) -> float:
    """Return the inner product of two vectors of one length, in the precision of the left one."""
    total = left.dtype.type(0)
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@compiled
def expand(factor: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Return the product (d,) of a matrix (d, k) with a k-vector."""
    result = np.empty(len(factor), factor.dtype)
    for i in range(len(factor)):
        result[i] = dot(factor[i], coordinates)
    return result


@compiled
def project(factor: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the product (k,) of a transposed matrix (d, k) with a d-vector."""
    result = np.zeros(factor.shape[1], factor.dtype)
    for i in range(len(factor)):
        for j in range(len(result)):
            result[j] += factor[i, j] * vector[i]
    return result
