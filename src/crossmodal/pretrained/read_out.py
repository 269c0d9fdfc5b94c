"""Read-out of a frozen network: all of its layers, or those that end its blocks.

    p_lk = 1/(H_l W_l) sum_hw A_lkhw

are the spatial means of the maps of layer l, or the units of a fully connected layer; or, with
several cells, the means of each cell of a grid over the maps. A_l is the
output (`post`) or the input (`pre`) of the activation that the layer's values reach, by way of
batch normalisation and the sum with a shortcut if there are any; a shortcut's projection reaches
the activation of its block, which is read once. A linear bottleneck has no activation: its
normalised values are read.
"""

import re
import threading
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d
from torch.nn.utils.fusion import fuse_conv_bn_eval

Tap = Literal["pre", "post"]
PROBE = 64  # pixels of the image that finds the layers


@dataclass(frozen=True)
class Layer:
    """Columns `start:stop` of the read-out hold the layer `name`."""

    name: str
    start: int
    stop: int


def fold(network: nn.Module) -> nn.Module:
    """Merge each batch normalisation into the convolution before it, in place.

    Args:
        network: In evaluation mode, its weights frozen. An activation that belongs to the
            normalisation stays where that was.
    """
    parts = [
        (name, module)
        for name, module in network.named_modules()
        if isinstance(module, nn.Conv2d | nn.BatchNorm2d)
    ]
    for (name, convolution), (norm_name, norm) in pairwise(parts):
        if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
            network.set_submodule(name, fuse_conv_bn_eval(convolution, norm))
            network.set_submodule(norm_name, getattr(norm, "act", nn.Identity()))
    return network


class ReadOut(nn.Module):
    """A frozen network as a function from images (n, 3, h, w) to its layers.

    They are (n, sum of widths) or (n, sum of widths, side, side).

    Args:
        network: A network without its classifier; its batch norms are folded in place.
        tap: Read the output or the input of the activations.
        blocks: Pattern of the names of the modules that end a block; empty reads every layer.
        side: Cells of a side of the grid over the maps; None for one value of each map.

    Attributes:
        layers: Names and columns of the layers, in forward order.
    """

    def __init__(
        self, network: nn.Module, tap: Tap, blocks: str = "", side: int | None = None
    ) -> None:
        super().__init__()
        ends = {name for name, module in network.named_modules() if ends_layer(module)}
        self.network, self.side = fold(network), side
        read = {
            name: module
            for name, module in self.network.named_modules()
            if (re.fullmatch(blocks, name) if blocks else name in ends)
        }
        self.collected = threading.local()  # several threads may run it at the same time
        for module in read.values():
            if tap == "post":
                module.register_forward_hook(self._keep_output)
            else:
                # an activation that works in place overwrites its input
                module.register_forward_pre_hook(self._keep_input)
        self.layers = self._probe(read, named_by_block=bool(blocks))

    @torch.inference_mode()
    def forward(self, images: Tensor) -> Tensor:
        """Run the network once and collect its layers."""
        self.collected.values = []
        self.network(images)
        return torch.cat(self.collected.values, 1)

    def _keep_output(self, module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        self.collected.values.append(pooled(output, self.side))

    def _keep_input(self, module: nn.Module, inputs: tuple[Tensor]) -> None:
        self.collected.values.append(pooled(inputs[0], self.side))

    def _probe(self, read: dict[str, nn.Module], named_by_block: bool) -> list[Layer]:
        """Run a small image; a layer has the name of its block or of its first convolution."""
        passed: list[str] = []
        names: list[str] = []

        def close(name: str) -> None:
            names.append(name if named_by_block else passed[0])
            passed.clear()

        handles = [
            module.register_forward_hook(lambda *_, name=name: passed.append(name))
            for name, module in self.network.named_modules()
            if isinstance(module, nn.Conv2d | nn.Linear)
        ]
        handles += [
            module.register_forward_hook(lambda *_, name=name: close(name))
            for name, module in read.items()
        ]
        device = next(self.network.parameters()).device
        self(torch.zeros(1, 3, PROBE, PROBE, device=device))
        for handle in handles:
            handle.remove()
        stops = list(accumulate(values.shape[1] for values in self.collected.values))
        return [Layer(*facts) for facts in zip(names, [0, *stops[:-1]], stops, strict=True)]


def ends_layer(module: nn.Module) -> bool:
    """Return whether a module is an activation, or a normalisation that has one of its own."""
    return isinstance(module, nn.ReLU) or (
        isinstance(module, nn.BatchNorm2d) and hasattr(module, "act")
    )


def pooled(values: Tensor, side: int | None = None) -> Tensor:
    """Average maps (n, k, h, w) to (n, k), or over the cells of a grid to (n, k, side, side).

    Units (n, k) stay as they are.
    """
    if side:
        return adaptive_avg_pool2d(values, side)
    # never the values themselves: an activation that works in place may overwrite them next
    return values.mean((2, 3)) if values.dim() == 4 else values.clone()
