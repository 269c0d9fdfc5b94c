"""Convolutional networks trained on ImageNet, read out at every layer.

The networks are torchvision's, without the layer that makes the classes. A traced copy returns all
other layers l = 1..L at once: spatial means of convolutional maps, units of fully connected layers,

    p_lk = 1/(H_l W_l) sum_hw A_lkhw,

where A_l is the input (`pre`) or the output (`post`) of the ReLU that the layer's values reach, by
way of batch normalisation and the sum with a shortcut if there are any. A shortcut's projection
reaches the ReLU of its block, which is read once.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, fx, nn

from crossmodal.errors import CrossmodalError
from crossmodal.files import replacing

Name = Literal["vgg16", "vgg19", "resnet50", "squeezenet1_1"]
Tap = Literal["pre", "post"]
Weights = Annotated[str, Field(pattern=r"^(random|imagenet|[^/]+\.safetensors)$")]


@dataclass(frozen=True)
class Network:
    """What is to be known of one of torchvision's networks.

    Args:
        classifier: Module that makes the classes; it is left out.
        width: Width of the customary one-layer embedding, which ends the read-out: fc7, the pooled
            last block, both expansions of the last fire module.
        official: File of the first ImageNet weights, which the papers' years are closest to.
        maps: Node of the graph with the last convolutional maps, rectified, before any pooling.
        maps_width: Channels of these maps.
    """

    classifier: str
    width: int
    official: str
    maps: str
    maps_width: int


NETWORKS = {
    "vgg16": Network("classifier.6", 4096, "vgg16-397923af", "features.29", 512),
    "vgg19": Network("classifier.6", 4096, "vgg19-dcbb9e9d", "features.35", 512),
    "resnet50": Network("fc", 2048, "resnet50-0676ba61", "layer4", 2048),
    "squeezenet1_1": Network("classifier", 512, "squeezenet1_1-b8a52dc0", "features.12", 512),
}
OFFICIAL = "https://download.pytorch.org/models"


@dataclass(frozen=True)
class Layer:
    """Columns `start:stop` of the read-out hold the layer `name`."""

    name: str
    start: int
    stop: int


def untrained(name: Name) -> nn.Module:
    """A network without its classifier and with unset weights, for evaluation only."""
    from torchvision.models import get_model

    with torch.device("meta"):  # spares torchvision's own initialisation
        network = get_model(name, weights=None)
    network.set_submodule(NETWORKS[name].classifier, nn.Identity())
    return network.to_empty(device="cpu").eval().requires_grad_(False)


def make_network(name: Name, path: Path | None, seed: int) -> nn.Module:
    """A network with the weights of a file, or with random ones; see below."""
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
        path: Safetensors file with the keys of torchvision's state dict.

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
    # how often batch statistics were updated; absent from old files and of no use here
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
                f"keys of torchvision.models.{name}().state_dict()"
            )


def read_out(network: nn.Module, tap: Tap) -> tuple[fx.GraphModule, list[Layer]]:
    """The network as a function from images (n, 3, h, w) to all its layers (n, sum of widths).

    Whatever comes after the last layer is left out, so it costs no time.

    Args:
        network: A network without its classifier.
        tap: Read the input or the output of the ReLUs.
    """
    traced = fx.symbolic_trace(network)
    graph, modules = traced.graph, dict(traced.named_modules())
    relus = {}  # dicts keep the forward order
    for node in graph.nodes:
        if isinstance(modules.get(node.target), nn.Conv2d | nn.Linear):
            relus.setdefault(_next_relu(node, modules), node.target)
    values = []
    for relu in relus:
        read = relu if tap == "post" else relu.args[0]
        with graph.inserting_after(read):
            values.append(graph.call_function(pooled, (read,)))
    output = graph.output_node()
    with graph.inserting_before(output):
        output.args = (graph.call_function(torch.cat, (values, 1)),)
    graph.eliminate_dead_code()
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced, _layers([(name, modules[name]) for name in relus.values()])


def _next_relu(node: fx.Node, modules: dict[str, nn.Module]) -> fx.Node:
    while not isinstance(modules.get(node.target), nn.ReLU):
        (node,) = node.users
    return node


def _layers(modules: list[tuple[str, nn.Module]]) -> list[Layer]:
    layers, start = [], 0
    for name, module in modules:
        layers.append(Layer(name, start, start + len(module.weight)))
        start = layers[-1].stop
    return layers


def pooled(values: Tensor) -> Tensor:
    """Spatial means (n, k) of maps (n, k, h, w); units (n, k) as they are."""
    # never the values themselves: a ReLU that works in place may overwrite them next
    return values.mean((2, 3)) if values.dim() == 4 else values.clone()


class Vectors(nn.Module):
    """A network as a function from images to its customary one-layer embedding, (n, width)."""

    def __init__(self, network: nn.Module, name: Name) -> None:
        super().__init__()
        self.network, self.width = network, NETWORKS[name].width

    def forward(self, images: Tensor) -> Tensor:
        """Of images (n, 3, 224, 224)."""
        values = self.network(images)
        return values.unflatten(1, (self.width, -1)).mean(2)  # SqueezeNet's maps are not pooled


class Maps(nn.Module):
    """A network as a function from images to its last convolutional maps, (n, width, h, w)."""

    def __init__(self, network: nn.Module, name: Name) -> None:
        from torchvision.models.feature_extraction import create_feature_extractor

        super().__init__()
        self.network = create_feature_extractor(network, {NETWORKS[name].maps: "maps"})

    def forward(self, images: Tensor) -> Tensor:
        """Of images (n, 3, 224, 224)."""
        return self.network(images)["maps"]


def weights_file(name: Name, weights: str) -> str:
    """File in `data/raw/weights/` of weights as params.yaml names them; empty if random."""
    named = {"random": "", "imagenet": official_weights(name)[1]}
    return named.get(weights, weights)


def official_weights(name: Name) -> tuple[str, str]:
    """Where torchvision publishes the first ImageNet weights of a network.

    Returns:
        The address, and the name of the file in `data/raw/weights/` that `convert` makes of it.
    """
    file = NETWORKS[name].official
    return f"{OFFICIAL}/{file}.pth", f"{file}.safetensors"


def convert(source: Path, destination: Path) -> None:
    """Keep published weights as safetensors.

    Args:
        source: File of torchvision.
        destination: Where the safetensors file goes.

    Raises:
        CrossmodalError: If the file holds no weights.
    """
    from safetensors.torch import save_file

    try:
        state = torch.load(source, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise CrossmodalError(f"{source}: no weights ({error}); get it again") from error
    with replacing(destination) as temporary:
        save_file({key: value.contiguous() for key, value in state.items()}, temporary)
