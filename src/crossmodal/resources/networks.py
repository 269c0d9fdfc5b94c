"""Sizes of networks."""

from dataclasses import dataclass, replace
from itertools import pairwise

from crossmodal.resources.sizes import FitSize


@dataclass(frozen=True)
class Workload:
    """Training of a network; see `crossmodal.learning.gradient`.

    Args:
        parameters: Trained numbers.
        units: Numbers of a row that the backward pass needs.
        products: Multiply-adds of a row.
        slots: Numbers that the optimiser keeps of each parameter.
        frozen: Numbers of the network that are not trained.
    """

    parameters: float = 0
    units: float = 0
    products: float = 0
    slots: int = 2
    frozen: float = 0

    def but(self, **changes: float) -> "Workload":
        """The same with other values."""
        return replace(self, **changes)

    def __add__(self, other: "Workload") -> "Workload":
        return Workload(
            self.parameters + other.parameters,
            self.units + other.units,
            self.products + other.products,
            self.slots,
            self.frozen + other.frozen,
        )


def dense(*widths: float) -> Workload:
    """Linear layers between successive widths, with biases and activations."""
    layers = list(pairwise(widths))
    products = sum(a * b for a, b in layers)
    units = sum(b for _, b in layers)
    return Workload(products + units, widths[0] + 3 * units, products)


def autoencoders(size: FitSize, stacks: dict[str, list[int]]) -> Workload:
    """A stack of autoencoders for each view."""
    parts = (autoencoder_stack(size.stored[m].width, *units) for m, units in stacks.items())
    return sum(parts, Workload())


def autoencoder_stack(*widths: float) -> Workload:
    """Autoencoders between successive widths, each with a decoder of its own."""
    return sum((dense(a, b, a) for a, b in pairwise(widths)), Workload())


def _convolutions(parameters: float, products: float, units: float) -> Workload:
    return Workload(parameters, units, products)


# without the classifier; of one crop
IMAGE_NETWORKS = {
    "vgg16": _convolutions(134e6, 15.5e9, 28.7e6),
    "vgg19": _convolutions(140e6, 19.6e9, 31.3e6),
    "resnet50": _convolutions(23.5e6, 4.09e9, 32.0e6),
    "resnet152": _convolutions(58.1e6, 11.5e9, 67.0e6),
    "squeezenet1_1": _convolutions(0.72e6, 0.263e9, 5.3e6),
    "efficientnet_lite0": _convolutions(3.37e6, 0.384e9, 25.0e6),
    "efficientnet_lite1": _convolutions(4.14e6, 0.599e9, 38.4e6),
    "efficientnet_lite2": _convolutions(4.81e6, 0.858e9, 48.9e6),
}
# numbers of one crop that are held at the same time where nothing is trained
HELD = {
    "vgg16": 6.4e6,
    "vgg19": 6.4e6,
    "resnet50": 2.4e6,
    "resnet152": 2.4e6,
    "squeezenet1_1": 1.6e6,
    "efficientnet_lite0": 2.4e6,
    "efficientnet_lite1": 2.8e6,
    "efficientnet_lite2": 3.3e6,
}
# columns of the layers that are read: of all, and of those that end the blocks
READ_OUTS = {
    "vgg16": {"all": 12_416},
    "vgg19": {"all": 13_696},
    "resnet50": {"all": 22_720, "blocks": 15_168},
    "resnet152": {"all": 71_872, "blocks": 47_936},
    "squeezenet1_1": {"all": 2_944, "blocks": 2_624},
    "efficientnet_lite0": {"all": 21_008, "blocks": 3_120},
    "efficientnet_lite1": {"all": 26_832, "blocks": 3_568},
    "efficientnet_lite2": {"all": 29_048, "blocks": 3_768},
}
# of one frame
SPEECH_NETWORKS = {
    "davenet": _convolutions(16.0e6, 3.71e6, 2216),
    "resdavenet": _convolutions(44.7e6, 3.98e6, 3712),
    "harwath2016": _convolutions(13.9e6, 3.70e6, 1312),
}
