"""What a result was made of, which is kept in the result itself."""

import importlib.metadata
import platform
from typing import Any

import torch

from crossmodal.device import device

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
        "threads": torch.get_num_threads(),
        "device": _device(),
        "inputs": inputs,
    }


def _device() -> str:
    """Name of the GPU, or the processor's kind and the vector instructions that PyTorch uses."""
    if device().type == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
