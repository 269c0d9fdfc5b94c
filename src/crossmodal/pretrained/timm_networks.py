"""Networks of timm by their names there, without the classifier."""

import math
from functools import cache
from typing import Any

import torch
from torch import nn

from crossmodal.errors import unknown
from crossmodal.images.crops import Preparation
from crossmodal.pretrained.network_facts import READOUTS, Network
from crossmodal.pretrained.timm_read_out import OUTPUT, TimmReadOut

PREFIX = "timm/"


def architecture(name: str, seed: int = 0) -> nn.Module:
    """Make a network without its classifier, as timm draws it; `name` may have a tag."""
    from timm import create_model

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return create_model(name, num_classes=0).eval().requires_grad_(False)


def without_memory(name: str, num_classes: int = 0) -> nn.Module:
    """Make the network on the device `meta`: its shapes alone."""
    from timm import create_model

    with torch.device("meta"):
        return create_model(name, num_classes=num_classes).eval().requires_grad_(False)


def check_name(name: str) -> None:
    """Check that timm has a network of this name.

    Raises:
        ValueError: If not; the message proposes similar names.
    """
    from timm import list_models, list_pretrained

    names = list_models()
    if name not in names and name not in (tagged := list_pretrained()):
        raise ValueError(unknown(name, tagged if name.partition(".")[0] in names else names))


@cache
def facts(name: str) -> Network:
    """Return facts about a network.

    Raises:
        ValueError: If timm has none of this name, or it does not read square pictures into vectors.
    """
    check_name(name)
    network: Any = without_memory(name)  # timm's attributes have no types
    preparation = _preparation(name, network)
    images = torch.zeros(1, 3, preparation.crop, preparation.crop, device="meta")
    layers = {
        kind: TimmReadOut(without_memory(name), kind, preparation.crop).layers for kind in READOUTS
    }
    with torch.inference_mode():
        maps, vector = network.forward_features(images), network(images)
    if vector.dim() != 2:
        raise ValueError(f"timm/{name}: makes no vector of a picture; choose another network")
    has_maps = isinstance(maps, torch.Tensor) and maps.dim() == 4
    channels = (3 if getattr(network, "output_fmt", "") == "NHWC" else 1) if has_maps else None
    return Network(
        "timm",
        name,
        vector.shape[1],
        maps.shape[channels] if channels else 0,
        preparation=preparation,
        readouts=tuple(kind for kind, each in layers.items() if each[0].name != OUTPUT),
        repository=network.pretrained_cfg.get("hf_hub_id") or "",
    )


def _preparation(name: str, network: Any) -> Preparation:
    """Return how timm prepares images to evaluate the network, for `resize: short`."""
    from timm.data import resolve_data_config

    config = resolve_data_config(network.pretrained_cfg)
    channels, height, width = config["input_size"]
    if channels != 3 or height != width:
        raise ValueError(
            f"timm/{name}: reads {channels} x {height} x {width} numbers; choose a network of "
            "square pictures with three colours"
        )
    side = math.floor(height / config["crop_pct"])
    statistics = tuple(config["mean"]), tuple(config["std"])
    return Preparation(side, height, *statistics, config["interpolation"])
