"""Facts about the eight networks of the papers."""

from dataclasses import dataclass, field
from typing import Literal

from crossmodal.images.crops import Preparation

READOUTS: tuple[Literal["all", "blocks"], ...] = ("all", "blocks")


@dataclass(frozen=True)
class Network:
    """Facts about a network.

    Args:
        library: Where its architecture comes from.
        architecture: Its name there.
        width: Width of the customary one-layer embedding (FC7), which ends the read-out: fc7, the
            pooled last block or head, both expansions of the last fire module, timm's pooled
            output.
        maps_width: Channels of its last convolutional maps; 0 if it has none.
        classifier: The final classification layer, which is left out; empty if timm does that.
        maps: Module with these maps, rectified, before any pooling; of timm's they end
            `forward_features`.
        blocks: Pattern of the modules that end the stem, a block or the head; empty if the network
            has no blocks, or is one of timm's by name.
        preparation: How images are prepared for it.
        readouts: Layers that may be read of it together: 'all', or those that end 'blocks'.
        repository: Of its published weights on the Hugging Face hub; empty if there is none.
    """

    library: Literal["torchvision", "timm"]
    architecture: str
    width: int
    maps_width: int
    classifier: str = ""
    maps: str = ""
    blocks: str = ""
    preparation: Preparation = field(default_factory=Preparation)
    readouts: tuple[str, ...] = ("all",)
    repository: str = ""


def _efficientnet_lite(size: int, side: int, crop: int) -> Network:
    return Network(
        "timm",
        f"tf_efficientnet_lite{size}",
        width=1280,
        maps_width=1280,
        classifier="classifier",
        blocks=r"bn1|blocks\.\d+\.\d+|bn2",
        preparation=Preparation(side, crop, mean=(127 / 255,) * 3, deviation=(128 / 255,) * 3),
        readouts=READOUTS,
    )


def _vgg(size: int, maps: str) -> Network:
    return Network("torchvision", f"vgg{size}", 4096, 512, "classifier.6", maps)


def _resnet(size: int) -> Network:
    blocks = r"relu|layer\d\.\d+"
    return Network(
        "torchvision", f"resnet{size}", 2048, 2048, "fc", "layer4", blocks=blocks, readouts=READOUTS
    )


NETWORKS = {
    "vgg16": _vgg(16, "features.29"),
    "vgg19": _vgg(19, "features.35"),
    "resnet50": _resnet(50),
    "resnet152": _resnet(152),
    "squeezenet1_1": Network(
        "torchvision",
        "squeezenet1_1",
        512,
        512,
        "classifier",
        "features.12",
        blocks=r"features\.(1|3|4|6|7|9|10|11|12)",
        readouts=READOUTS,
    ),
    # the crop is 224/256 of the square, or what the network was published with
    "efficientnet_lite0": _efficientnet_lite(0, 256, 224),
    "efficientnet_lite1": _efficientnet_lite(1, 272, 240),
    "efficientnet_lite2": _efficientnet_lite(2, 292, 260),
}
