"""Convolutional networks trained on ImageNet, without the final classification layer.

The networks are torchvision's, and timm's EfficientNet-Lite. What is read of them is in
`crossmodal.images.read_out`, where their weights come from in `crossmodal.images.weights`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from crossmodal.errors import CrossmodalError
from crossmodal.images.crops import Preparation

Name = Literal[
    "vgg16",
    "vgg19",
    "resnet50",
    "squeezenet1_1",
    "efficientnet_lite0",
    "efficientnet_lite1",
    "efficientnet_lite2",
]


@dataclass(frozen=True)
class Network:
    """Facts about a network.

    Args:
        library: Where its architecture comes from.
        architecture: Its name there.
        classifier: The final classification layer, which is left out.
        width: Width of the customary one-layer embedding (FC7), which ends the read-out: fc7, the
            pooled last block or head, both expansions of the last fire module.
        maps_width: Channels of its last convolutional maps.
        maps: Module with these maps, rectified, before any pooling; of timm's they end
            `forward_features`.
        blocks: Pattern of the modules that end the stem, a block or the head; empty if the network
            has no blocks.
        preparation: How images are prepared for it.
    """

    library: Literal["torchvision", "timm"]
    architecture: str
    classifier: str
    width: int
    maps_width: int
    maps: str = ""
    blocks: str = ""
    preparation: Preparation = field(default_factory=Preparation)


def _efficientnet_lite(size: int, side: int, crop: int) -> Network:
    return Network(
        "timm",
        f"tf_efficientnet_lite{size}",
        "classifier",
        width=1280,
        maps_width=1280,
        blocks=r"bn1|blocks\.\d+\.\d+|bn2",
        preparation=Preparation(side, crop, mean=(127 / 255,) * 3, deviation=(128 / 255,) * 3),
    )


NETWORKS = {
    "vgg16": Network("torchvision", "vgg16", "classifier.6", 4096, 512, "features.29"),
    "vgg19": Network("torchvision", "vgg19", "classifier.6", 4096, 512, "features.35"),
    "resnet50": Network(
        "torchvision", "resnet50", "fc", 2048, 2048, "layer4", blocks=r"relu|layer\d\.\d"
    ),
    "squeezenet1_1": Network(
        "torchvision",
        "squeezenet1_1",
        "classifier",
        512,
        512,
        "features.12",
        blocks=r"features\.(1|3|4|6|7|9|10|11|12)",
    ),
    # the crop is 224/256 of the square, or what the network was published with
    "efficientnet_lite0": _efficientnet_lite(0, 256, 224),
    "efficientnet_lite1": _efficientnet_lite(1, 272, 240),
    "efficientnet_lite2": _efficientnet_lite(2, 292, 260),
}


def untrained(name: Name) -> nn.Module:
    """A network without its classifier and with unset weights, for evaluation only."""
    with torch.device("meta"):  # spares the library's own initialisation
        network = _architecture(NETWORKS[name])
    network.set_submodule(NETWORKS[name].classifier, nn.Identity())
    return network.to_empty(device="cpu").eval().requires_grad_(False)


def _architecture(network: Network) -> nn.Module:
    if network.library == "timm":
        from timm import create_model

        return create_model(network.architecture)
    from torchvision.models import get_model

    return get_model(network.architecture, weights=None)


def make_network(name: Name, path: Path | None, seed: int) -> nn.Module:
    """A network with the weights of a file, or with random ones if there is none."""
    return trained_network(name, path) if path else random_network(name, seed)


def random_network(name: Name, seed: int) -> nn.Module:
    """A network whose activations are of order one for inputs of order one.

    Source: He et al., Delving deep into rectifiers (2015), eq. 10.
    """
    network, generator = untrained(name), torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()
            # damped residual branches, or each sum with a shortcut would double the variance
            nn.init.constant_(module.weight, 0.5**0.5)
    return network


def trained_network(name: Name, path: Path) -> nn.Module:
    """A network with the weights of a file, which may lack the classifier.

    Args:
        name: Which network.
        path: Safetensors file with the keys of the library's state dict.

    Raises:
        CrossmodalError: If the file cannot be read or does not fit the network.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CrossmodalError(f"{path}: not a safetensors file of weights: {error}") from error
    network = untrained(name)
    state = {k: v for k, v in state.items() if not k.startswith(f"{NETWORKS[name].classifier}.")}
    # the number of batches seen, absent from old files and unused in evaluation
    needed = {k: v for k, v in network.state_dict().items() if not k.endswith("_batches_tracked")}
    _check_fit(name, path, needed, state)
    network.load_state_dict(state, strict=False)
    return network


def _check_fit(name: str, path: Path, needed: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    found = {k for k in state if not k.endswith("_batches_tracked")}
    shapes = [k for k in found & needed.keys() if state[k].shape != needed[k].shape]
    for keys, problem in (
        (needed.keys() - found, "are missing"),
        (found - needed.keys(), "are unexpected"),
        (shapes, "have another shape"),
    ):
        if keys:
            shown = ", ".join(sorted(keys)[:5]) + (", ..." if len(keys) > 5 else "")
            raise CrossmodalError(
                f"{path}: {len(keys)} weights of {name} {problem}: {shown}; give a file with the "
                f"keys of {NETWORKS[name].library}'s state dict of {NETWORKS[name].architecture}"
            )


class Vectors(nn.Module):
    """A network as a function from images to its customary one-layer embedding, (n, width)."""

    def __init__(self, network: nn.Module, name: Name) -> None:
        super().__init__()
        self.network, self.width = network, NETWORKS[name].width

    def forward(self, images: Tensor) -> Tensor:
        """Of images (n, 3, h, w)."""
        values = self.network(images)
        return values.unflatten(1, (self.width, -1)).mean(2)  # SqueezeNet's maps are not pooled


class Maps(nn.Module):
    """A network as a function from images to its last convolutional maps, (n, width, h, w)."""

    def __init__(self, network: nn.Module, name: Name) -> None:
        super().__init__()
        if node := NETWORKS[name].maps:
            from torchvision.models.feature_extraction import create_feature_extractor

            self.network = create_feature_extractor(network, {node: "maps"})
        else:
            self.network = network

    def forward(self, images: Tensor) -> Tensor:
        """Of images (n, 3, h, w)."""
        if hasattr(self.network, "forward_features"):
            return self.network.forward_features(images)
        return self.network(images)["maps"]
