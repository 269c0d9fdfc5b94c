"""What a result was made of, which is kept in the result itself."""

import importlib.metadata
import platform
import sys
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

VERSIONED = ("crossmodal", "numpy", "torch", "torchaudio", "torchvision")


def provenance(spec: dict[str, Any], inputs: dict[str, str]) -> dict[str, Any]:
    """All that numbers depend on besides options and seed, as JSON.

    Keys: `code`, hash of the code that ran; `versions` of the package and of the libraries that
    compute; `threads` of the arithmetic; `device`; `inputs`, path -> SHA-256.

    Args:
        spec: What the job depends on, of which `code` is read; by hand there may be none.
        inputs: SHA-256 of the files that it read, by path.
    """
    return {
        "code": spec.get("code", ""),
        "versions": {name: importlib.metadata.version(name) for name in VERSIONED},
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
        "device": _device(),
        "inputs": inputs,
    }


def _device() -> str:
    """Name of the GPU, or the processor's kind and the vector instructions that NumPy found."""
    torch = sys.modules.get("torch")  # what has not loaded it has not computed with it
    if torch and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    known = np.show_config(mode="dicts").get("SIMD Extensions", {})  # without what is empty
    vectors = [*known.get("baseline", ()), *known.get("found", ())]
    return " ".join([platform.machine(), *vectors[-1:]])
