"""Sequences of different lengths on a device: padding, and a recurrent summary without padding."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from crossmodal.data.feature_file import Ragged
from crossmodal.nn.gru import backward_order, gru_states
from crossmodal.nn.onednn import linear


@dataclass(frozen=True)
class Sequences:
    """The rows of a Ragged, end to end on a device in their stored precision.

    Args:
        values: All steps of all rows, (sum of lengths, d).
        starts: First step of each row, (n,).
        lengths: Steps of each row that are used, (n,).
    """

    values: torch.Tensor
    starts: torch.Tensor
    lengths: torch.Tensor

    @classmethod
    def place(cls, rows: Ragged, longest: int, device: torch.device) -> "Sequences":
        """Move to a device; of each row only the first `longest` steps are used."""
        starts = torch.from_numpy(rows.offsets[:-1])
        lengths = torch.from_numpy(rows.lengths).clamp(max=longest)
        return cls(torch.from_numpy(rows.values).to(device), starts, lengths)

    def pad(
        self, rows: np.ndarray, size: int, fill: float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Some rows side by side, a constant behind them.

        Args:
            rows: Which rows, (b,).
            size: Steps of the result, at least the longest row's.
            fill: The constant.

        Returns:
            The batch (b, size, d) in single precision on the device; lengths (b,) on the CPU.
        """
        steps = torch.arange(size)
        inside = steps < self.lengths[rows, None]  # (b, size)
        sources = (self.starts[rows, None] + steps).where(inside, 0)
        sources, inside = (x.to(self.values.device) for x in (sources, inside))
        padded = self.values[sources].float().where(inside[:, :, None], fill)
        return padded, self.lengths[rows]


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
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        if not x.is_cuda:
            return self._read(packed)
        _, states = self.gru(packed)  # cuDNN runs all steps in one call; (2 layers, b, units)
        return torch.cat([states[-2], states[-1]], dim=1)

    def _read(self, packed: PackedSequence) -> torch.Tensor:
        """The same on a CPU."""
        steps, sizes = packed.data, packed.batch_sizes.tolist()
        orders = torch.arange(len(steps)), backward_order(sizes)
        for layer in range(self.gru.num_layers):
            weights = self.gru.all_weights[2 * layer : 2 * layer + 2]  # forward and backward
            states = [
                gru_states(linear(steps, w, b), order, sizes, u, c)
                for order, (w, u, b, c) in zip(orders, weights, strict=True)
            ]
            steps = torch.cat([states[0], states[1][orders[1]]], dim=1)
        last = orders[1][packed.unsorted_indices]  # it begins with the last steps
        return torch.cat([state[last] for state in states], dim=1)
