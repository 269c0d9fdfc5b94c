"""Provenance of a result, which is stored in the result itself."""

import importlib.metadata
import platform
import sys

import numpy as np
from threadpoolctl import threadpool_info
from typing_extensions import TypedDict

VERSIONED = ("crossmodal-retrieval", "numpy", "torch", "torchaudio", "torchvision")


class Provenance(TypedDict):
    """All that numbers depend on besides options and seed.

    Attributes:
        code: Hash of the code that ran.
        versions: Of the package and of the libraries that compute.
        threads: Of the arithmetic.
        device: What computed.
        inputs: Path -> SHA-256.
    """

    code: str
    versions: dict[str, str]
    threads: int
    device: str
    inputs: dict[str, str]


def provenance(code: str, inputs: dict[str, str]) -> Provenance:
    """Return the provenance of what this process has computed.

    Args:
        code: Hash of the code; empty where a step is called by hand.
        inputs: SHA-256 of the files that it read, by path.
    """
    return {
        "code": code,
        "versions": {name: importlib.metadata.version(name) for name in VERSIONED},
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
        "device": _device(),
        "inputs": inputs,
    }


def _device() -> str:
    """Return the GPU's name, or the processor's kind and the vector instructions NumPy uses."""
    torch = sys.modules.get("torch")  # what has not loaded it has not computed with it
    if torch and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    extensions = np.show_config(mode="dicts").get("SIMD Extensions", {})  # without what is empty
    vectors = [*extensions.get("baseline", ()), *extensions.get("found", ())]
    return " ".join([platform.machine(), *vectors[-1:]])
