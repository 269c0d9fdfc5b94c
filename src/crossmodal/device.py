"""Where networks and features live, and in which precision networks run."""

from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence


def device() -> torch.device:
    """The GPU if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def to_device(rows: np.ndarray | torch.Tensor | PackedSequence) -> Any:
    """Rows on the device; a GPU takes them from pinned memory, while the program goes on."""
    if isinstance(rows, np.ndarray):
        rows = torch.from_numpy(rows)
    if device().type == "cpu":
        return rows
    return rows.pin_memory().to(device(), non_blocking=True)


def half_precision() -> torch.autocast:
    """A context in which a GPU multiplies in bfloat16; a processor keeps single precision."""
    kind = device().type
    return torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda")
