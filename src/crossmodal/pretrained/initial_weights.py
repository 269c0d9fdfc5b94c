"""Weights of a whole network, which training begins with."""

from pathlib import Path

from torch import nn

from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.bundles import read_tensors


def load_network(network: nn.Module, path: Path) -> None:
    """Give a network all of its tensors from a file.

    Raises:
        CrossmodalError: If it is no safetensors file, or its names or shapes are others.
    """
    tensors, own = read_tensors(path), network.state_dict()
    different = tensors.keys() ^ own.keys()
    shapes = {name for name in own.keys() & tensors if own[name].shape != tensors[name].shape}
    if different or shapes:
        raise CrossmodalError(
            f"{path}: has {len(tensors)} tensors, the network {len(own)}; these are in one alone, "
            f"or have other shapes: {listed(sorted(different | shapes))}; rename or convert them"
        )
    network.load_state_dict(tensors)
