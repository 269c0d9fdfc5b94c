"""Networks of images, without the final classification layer.

The networks are those of the papers, and any of timm's by name. What is read of them is in
`crossmodal.pretrained.read_out` and `timm_read_out`, where their weights come from in `weights`.
"""

from pathlib import Path
from typing import Annotated

import torch
from pydantic import AfterValidator
from torch import Tensor, nn

from crossmodal.errors import CrossmodalError, unknown
from crossmodal.io.bundles import read_tensors
from crossmodal.pretrained import timm_networks
from crossmodal.pretrained.network_facts import NETWORKS, Network


def network(name: str) -> Network:
    """Return facts about one of the papers' networks, or about `timm/NAME`.

    Raises:
        ValueError: If there is none of this name; the message proposes similar ones.
    """
    if name.startswith(timm_networks.PREFIX):
        return timm_networks.facts(name.removeprefix(timm_networks.PREFIX))
    if name not in NETWORKS:
        raise ValueError(f"{unknown(name, NETWORKS)}; or timm/NAME, any of timm's networks")
    return NETWORKS[name]


def _checked(name: str) -> str:
    network(name)
    return name


Name = Annotated[str, AfterValidator(_checked)]


def without_memory(name: Name) -> nn.Module:
    """Make a network without its classifier on the device `meta`: its shapes alone."""
    facts = network(name)
    if not facts.classifier:
        return timm_networks.without_memory(facts.architecture)
    with torch.device("meta"):  # spares the library's own initialisation
        built = _architecture(facts)
    built.set_submodule(facts.classifier, nn.Identity())
    return built.eval().requires_grad_(False)


def untrained(name: Name) -> nn.Module:
    """Make a network without its classifier and with unset weights, for evaluation only."""
    facts = network(name)
    if not facts.classifier:  # what timm computes beside the weights must be set
        return timm_networks.architecture(facts.architecture)
    return without_memory(name).to_empty(device="cpu")


def _architecture(facts: Network) -> nn.Module:
    if facts.library == "timm":
        from timm import create_model

        return create_model(facts.architecture)
    from torchvision.models import get_model

    return get_model(facts.architecture, weights=None)


def make_network(name: Name, path: Path | None, seed: int) -> nn.Module:
    """Make a network with the weights of a file, or with random ones if there is none."""
    return trained_network(name, path) if path else random_network(name, seed)


def random_network(name: Name, seed: int) -> nn.Module:
    """Make a network whose activations are of order one for inputs of order one.

    `timm/NAME` is drawn as timm does.

    Source: He et al., Delving deep into rectifiers (2015), eq. 10.
    """
    if not network(name).classifier:
        return timm_networks.architecture(network(name).architecture, seed)
    built, generator = untrained(name), torch.Generator().manual_seed(seed)
    for module in built.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()
            # damped residual branches, or each sum with a shortcut would double the variance
            nn.init.constant_(module.weight, 0.5**0.5)
    return built


def trained_network(name: Name, path: Path) -> nn.Module:
    """Make a network with the weights of a file, which may lack the classifier.

    Args:
        name: Which network.
        path: Safetensors file with the keys of the library's state dict.

    Raises:
        CrossmodalError: If the file cannot be read or does not fit the network.
    """
    state = read_tensors(path)
    built = untrained(name)
    left_out = _classifier(name, built, state)
    state = {key: value for key, value in state.items() if key not in left_out}
    # the number of batches seen, absent from old files and unused in evaluation
    needed = {k: v for k, v in built.state_dict().items() if not k.endswith("_batches_tracked")}
    _check_fit(name, path, needed, state)
    built.load_state_dict(state, strict=False)
    return built


def _classifier(name: Name, built: nn.Module, state: dict[str, Tensor]) -> set[str]:
    """Return the names of the classifier's weights, which are left out."""
    facts = network(name)
    if facts.classifier:
        return {key for key in state if key.startswith(f"{facts.classifier}.")}
    # with the classifier, timm leaves out a normalisation or hidden layer of some heads
    whole = timm_networks.without_memory(facts.architecture, num_classes=1000)
    return whole.state_dict().keys() - built.state_dict().keys()


def _check_fit(name: str, path: Path, needed: dict[str, Tensor], state: dict[str, Tensor]) -> None:
    stored = {k for k in state if not k.endswith("_batches_tracked")}
    shapes = [k for k in stored & needed.keys() if state[k].shape != needed[k].shape]
    for keys, problem in (
        (needed.keys() - stored, "are missing"),
        (stored - needed.keys(), "are unexpected"),
        (shapes, "have another shape"),
    ):
        if keys:
            names = ", ".join(sorted(keys)[:5]) + (", ..." if len(keys) > 5 else "")
            raise CrossmodalError(
                f"{path}: {len(keys)} weights of {name} {problem}: {names}; give a file with the "
                f"keys of {network(name).library}'s state dict of {network(name).architecture}"
            )


class _Pool(nn.AdaptiveAvgPool2d):
    """A pool that leaves maps of the wanted size alone, as VGG's are.

    The gradient of PyTorch's is not repeatable on a GPU.
    """

    def forward(self, maps: Tensor) -> Tensor:
        """Pool maps (n, channels, h, w)."""
        return maps if maps.shape[2:] == self.output_size else super().forward(maps)


class Vectors(nn.Module):
    """A network as a function from images to its customary one-layer embedding, (n, width)."""

    def __init__(self, trunk: nn.Module, name: Name) -> None:
        super().__init__()
        self.network, self.width = trunk, network(name).width
        if isinstance(pool := getattr(trunk, "avgpool", None), nn.AdaptiveAvgPool2d):
            trunk.avgpool = _Pool(pool.output_size)

    def forward(self, images: Tensor) -> Tensor:
        """Embed images (n, 3, h, w)."""
        values = self.network(images)
        return values.unflatten(1, (self.width, -1)).mean(2)  # SqueezeNet's maps are not pooled


class Maps(nn.Module):
    """A network as a function from images to its last convolutional maps, (n, width, h, w)."""

    def __init__(self, trunk: nn.Module, name: Name) -> None:
        super().__init__()
        self.channels_last = getattr(trunk, "output_fmt", "") == "NHWC"
        if node := network(name).maps:
            from torchvision.models.feature_extraction import create_feature_extractor

            self.network = create_feature_extractor(trunk, {node: "maps"})
        else:
            self.network = trunk

    def forward(self, images: Tensor) -> Tensor:
        """Embed images (n, 3, h, w)."""
        if hasattr(self.network, "forward_features"):
            maps = self.network.forward_features(images)
            return maps.permute(0, 3, 1, 2) if self.channels_last else maps
        return self.network(images)["maps"]
