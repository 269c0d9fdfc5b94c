"""Multi-layer perceptrons, Glorot-uniform with zero biases."""

from itertools import pairwise

from torch import nn

from crossmodal.errors import CrossmodalError
from crossmodal.nn.onednn import Linear
from crossmodal.plugin import Count

Layers = list[Count]  # units of each
LayersByView = dict[str, Layers]


def linear(width: int, units: int, bias: bool = True) -> Linear:
    """Make a Glorot-uniform linear layer."""
    layer = Linear(width, units, bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def mlp(widths: list[int], activation: type[nn.Module], dropout: float = 0.0) -> nn.Sequential:
    """Make linear layers between successive widths, each followed by activation and dropout."""
    layers: list[nn.Module] = []
    for width, units in pairwise(widths):
        layers += [linear(width, units), activation(), nn.Dropout(dropout)]
    return nn.Sequential(*layers)


def layers_of(modality: str, hidden: LayersByView) -> Layers:
    """Return the hidden layers of one modality.

    Raises:
        CrossmodalError: If they are not given.
    """
    if modality not in hidden:
        raise CrossmodalError(
            f"the layers of view {modality!r} are not given, only those of "
            f"{', '.join(hidden) or 'no view'}; add them to the method's options"
        )
    return hidden[modality]
