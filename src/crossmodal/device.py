"""Device and precision of networks."""

from typing import overload

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence


def device() -> torch.device:
    """Return the GPU if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@overload
def to_device(rows: PackedSequence) -> PackedSequence: ...


@overload
def to_device(rows: np.ndarray | torch.Tensor) -> torch.Tensor: ...


def to_device(
    rows: np.ndarray | torch.Tensor | PackedSequence,
) -> torch.Tensor | PackedSequence:
    """Return rows on the device; copies to a GPU are asynchronous, from pinned memory."""
    if isinstance(rows, np.ndarray):
        rows = torch.from_numpy(rows)
    if device().type == "cpu":
        return rows
    return rows.pin_memory().cuda(non_blocking=True)


def half_precision() -> torch.autocast:
    """Return a context in which a GPU multiplies in bfloat16; a processor keeps float32."""
    kind = device().type
    return torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda")
