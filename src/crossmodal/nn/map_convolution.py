"""A convolution over maps, read position by position."""

from functools import reduce

import torch
from torch import nn
from torch.nn.functional import avg_pool2d, conv2d, pad

from crossmodal.nn.onednn import linear


class MapConvolution(nn.Module):
    """A convolution of odd side and stride 1 that keeps the size of maps.

    Args:
        inputs: Channels C of the maps.
        outputs: Channels D of a position.
        side: Of the kernel, k.
    """

    def __init__(self, inputs: int, outputs: int, side: int) -> None:
        super().__init__()
        layer = nn.Conv2d(inputs, outputs, side)  # for its initialisation
        assert layer.bias is not None
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return positions (b, h * w, D) of maps (b, C, h, w)."""
        side = self.weight.shape[-1]
        # oneDNN's convolution is slow on a processor where most of a kernel hangs over the edge
        if maps.is_cuda or min(maps.shape[2:]) > side:
            convolved = conv2d(maps, self.weight, self.bias, padding=side // 2)
            return convolved.flatten(2).transpose(1, 2)
        return self._by_products(maps)

    def mean(self, maps: torch.Tensor) -> torch.Tensor:
        """Return the mean position (b, D) of maps (b, C, h, w).

        The mean goes before the convolution, to which it is linear, and leaves it one position.
        """
        edge = self.weight.shape[-1] // 2
        seen = avg_pool2d(pad(maps, (edge,) * 4), maps.shape[2:], stride=1)  # (b, C, k, k)
        return linear(seen.flatten(1), self.weight.flatten(1), self.bias)

    def _by_products(self, maps: torch.Tensor) -> torch.Tensor:
        """Multiply each position by each of the kernel's, and add what meets in one place."""
        outputs, inputs, side, _ = self.weight.shape
        batch, _, height, width = maps.shape
        rows = maps.permute(0, 2, 3, 1).reshape(-1, inputs)
        kernel = self.weight.permute(2, 3, 0, 1).reshape(-1, inputs)
        products = linear(rows, kernel, None).view(batch, height, width, side, side, outputs)
        edge = side // 2
        products = pad(products, (0, 0, 0, 0, 0, 0, edge, edge, edge, edge))
        shifted = (
            products[:, i : i + height, j : j + width, i, j]
            for i in range(side)
            for j in range(side)
        )
        positions = reduce(torch.add, shifted)
        return (positions + self.bias).flatten(1, 2)
