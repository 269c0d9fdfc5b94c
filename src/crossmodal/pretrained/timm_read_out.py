"""Read-out of a frozen network of timm's: activations or blocks, and its pooled output.

    p_l = mean over the positions, or the tokens, of the output of module l

The modules are all activations after convolutions, or the blocks as timm groups them. The pooled
output ends the read-out; where nothing but pooling follows the last block, that is read once.
"""

import re
import threading
from itertools import accumulate
from typing import Literal

import torch
from torch import Tensor, nn

from crossmodal.pretrained.read_out import Layer, ends_layer

Read = Literal["all", "blocks", "last"]
OUTPUT = "pooled output"


class TimmReadOut(nn.Module):
    """A network of timm's as a function from images (n, 3, h, w) to (n, sum of widths).

    Args:
        network: A network without its classifier, in evaluation mode.
        read: 'all' activations after convolutions, the 'blocks', or the 'last' layer alone: the
            pooled output.
        crop: Side of the images that it takes, in pixels. They are square, hence so are its maps.

    Attributes:
        layers: Names and columns of the layers, in forward order.
    """

    def __init__(self, network: nn.Module, read: Read, crop: int) -> None:
        super().__init__()
        self.network = network
        self.channels_last = getattr(network, "output_fmt", "") == "NHWC"
        self.collected = threading.local()  # several threads may run it at the same time
        self.reads_output = True
        names = {"all": activations, "blocks": blocks}[read](network) if read != "last" else []
        for name in names:
            network.get_submodule(name).register_forward_hook(self._keep)
        self.layers = self._probe(names, crop)

    @torch.inference_mode()
    def forward(self, images: Tensor) -> Tensor:
        """Run the network once and collect its layers."""
        self.collected.values, self.collected.count = [], len(images)
        output = self.network(images)
        return torch.cat([*self.collected.values, *([output] if self.reads_output else [])], 1)

    def _keep(self, module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        if self._is_read(output):
            self.collected.values.append(means(output, self.channels_last))

    def _is_read(self, output: object) -> bool:
        """Return whether an output is a tensor with a row per image, not per window of it."""
        if not isinstance(output, Tensor) or len(output) != self.collected.count:
            return False
        height, width = (1, 2) if self.channels_last else (-2, -1)
        return output.dim() in (2, 3) or (
            output.dim() == 4 and output.shape[height] == output.shape[width]
        )

    def _probe(self, names: list[str], crop: int) -> list[Layer]:
        """Run an empty image; the output is a layer of its own if weights follow the last layer."""
        read: list[str] = []
        after: list[nn.Module] = []

        def close(name: str, output: object) -> None:
            if self._is_read(output):
                read.append(name)
                after.clear()

        handles = [
            module.register_forward_hook(lambda module, *_: after.append(module))
            for module in self.network.modules()
            if next(module.parameters(recurse=False), None) is not None
        ]
        handles += [
            self.network.get_submodule(name).register_forward_hook(
                lambda module, inputs, output, name=name: close(name, output)
            )
            for name in names
        ]
        device = next(self.network.parameters()).device
        columns = self(torch.zeros(1, 3, crop, crop, device=device)).shape[1]
        for handle in handles:
            handle.remove()
        widths = [values.shape[1] for values in self.collected.values]
        output = columns - sum(widths)
        self.reads_output = bool(after) or not widths or widths[-1] != output
        if self.reads_output:
            read, widths = [*read, OUTPUT], [*widths, output]
        stops = list(accumulate(widths))
        return [Layer(*facts) for facts in zip(read, [0, *stops[:-1]], stops, strict=True)]


def activations(network: nn.Module) -> list[str]:
    """Return the names of all activations after convolutions, or of norms that have their own."""
    ends = [name for name, module in network.named_modules() if ends_layer(module)]
    return [name for name in ends if name.rpartition(".")[0] not in ends]


def blocks(network: nn.Module) -> list[str]:
    """Return the names of the blocks, as timm groups them for learning rates, or of its stages."""
    matcher: object = getattr(network, "group_matcher", lambda coarse: {})(coarse=False)
    entry = matcher.get("blocks", ()) if isinstance(matcher, dict) else ()
    # an entry with a number in timm's list belongs to a block beside it
    patterns = [entry] if isinstance(entry, str) else [text for text, number in entry if not number]
    modules = dict(network.named_modules())
    parents = [
        name for name, module in modules.items() if next(module.children(), None) is not None
    ]
    matches = [name for name in parents if any(re.fullmatch(each, name) for each in patterns)]
    stages = {stage["module"] for stage in getattr(network, "feature_info", ())}
    return matches or [name for name in modules if name and name in stages]


def means(values: Tensor, channels_last: bool) -> Tensor:
    """Average maps (n, k, h, w), or with channels last (n, h, w, k), or tokens (n, t, k) to (n, k).

    Units (n, k) stay as they are.
    """
    if values.dim() == 4:
        return values.mean((1, 2) if channels_last else (2, 3))
    # never the values themselves: an activation that works in place may overwrite them next
    return values.mean(1) if values.dim() == 3 else values.clone()
