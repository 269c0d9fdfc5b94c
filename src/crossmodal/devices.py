"""Where networks and features live, and in which precision networks run."""

import torch


def device() -> torch.device:
    """The GPU if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def half_precision() -> torch.autocast:
    """A context in which a GPU multiplies in bfloat16; a processor keeps single precision."""
    kind = device().type
    return torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda")
