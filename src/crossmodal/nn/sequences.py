"""Sequences of different lengths: batches on a device, and a recurrent summary without padding."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from crossmodal.data.feature_file import Ragged
from crossmodal.device import to_device
from crossmodal.nn.gru import backward_order, gru_states
from crossmodal.nn.onednn import linear
from crossmodal.nn.precision import narrowed

POOL = 16  # batches that are sorted by length together


class Sequences:
    """The rows of a Ragged on the host, from which batches go to a device.

    Args:
        rows: Steps of each row, (length, d).
        longest: Of each row only the first `longest` steps are used.

    Attributes:
        lengths: Steps of each row that are used, (n,).
    """

    def __init__(self, rows: Ragged, longest: int) -> None:
        self.rows = rows
        self.lengths = rows.lengths.clip(max=longest)

    def pad(
        self, rows: np.ndarray, size: int, fill: float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return some rows side by side, a constant behind them.

        Args:
            rows: Which rows, (b,).
            size: Steps of the result, at least the longest row's.
            fill: The constant.

        Returns:
            The batch (b, size, d) in single precision on the device; lengths (b,) on the CPU.
        """
        values, lengths = self.rows.values, self.lengths[rows]
        padded = np.full((len(rows), size, *values.shape[1:]), fill, values.dtype)
        for place, start, length in zip(padded, self.rows.offsets[rows], lengths, strict=True):
            place[:length] = values[start : start + length]
        return to_device(padded).float(), torch.from_numpy(lengths)


def batches_of_similar_length(
    lengths: np.ndarray, size: int, rng: np.random.Generator
) -> Iterable[np.ndarray]:
    """Draw a permutation of rows in batches, one of which may be smaller, in random order.

    Args:
        lengths: Steps of each row, (n,); `POOL` batches at a time are sorted by it.
        size: Rows of a batch.
        rng: Draws the permutation.
    """
    order = rng.permutation(len(lengths))
    pools = np.split(order, range(POOL * size, len(order), POOL * size))
    order = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
    starts = rng.permutation(range(0, len(order), size))
    return (order[start : start + size] for start in starts)


class BiGRU(nn.Module):
    """Last forward with last backward state of the top layer, (b, 2 units).

    Args:
        inputs: Width of a step.
        units: Size of each direction's state.
        layers: Number of layers.
    """

    def __init__(self, inputs: int, units: int, layers: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, units, layers, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Read the first `lengths` (b,) steps, given on the CPU, of each row of x (b, t, d)."""
        packed = _pack(x, lengths)
        if not x.is_cuda:
            return self._read(packed)
        _, states = self.gru(packed)  # cuDNN runs all steps in one call; (2 layers, b, units)
        return torch.cat([states[-2], states[-1]], dim=1)

    def _read(self, packed: PackedSequence) -> torch.Tensor:
        """Read packed steps on a CPU."""
        steps, sizes = packed.data, packed.batch_sizes.tolist()
        orders = torch.arange(len(steps)), backward_order(sizes)
        for layer in range(self.gru.num_layers):
            weights = self.gru.all_weights[2 * layer : 2 * layer + 2]  # forward and backward
            states = [
                gru_states(linear(narrowed(steps), w, b), order, sizes, u, c)
                for order, (w, u, b, c) in zip(orders, weights, strict=True)
            ]
            steps = torch.cat([states[0], states[1][orders[1]]], dim=1)
        last = orders[1][packed.unsorted_indices]  # it begins with the last steps
        return torch.cat([state[last] for state in states], dim=1)


def _pack(x: torch.Tensor, lengths: torch.Tensor) -> PackedSequence:
    """Pack the first `lengths` (b,) steps of x (b, t, d); unlike PyTorch's, it awaits no GPU."""
    lengths, order = lengths.sort(descending=True)
    placed = to_device(order)
    packed = pack_padded_sequence(x.index_select(0, placed), lengths, batch_first=True)
    return PackedSequence(packed.data, packed.batch_sizes, placed)
