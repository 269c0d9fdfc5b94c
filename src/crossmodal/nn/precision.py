"""Networks that multiply in bfloat16; weights, losses and scores stay in single precision."""

import os
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from crossmodal.device import device
from crossmodal.errors import CrossmodalError
from crossmodal.nn.onednn import Linear
from crossmodal.repeatability import PORTABLE

Precision = Annotated[
    Literal["float32", "bfloat16"],
    Field(
        description="Precision in which the networks multiply. 'bfloat16' is for GPUs and for "
        "processors with AMX (Intel's Xeon since Sapphire Rapids, 2023); other processors compute "
        "it too, but may be slower than in 'float32'. Weights, losses and scores are float32 in "
        "either."
    ),
]


def compute_in(precision: Precision, *networks: nn.Module) -> None:
    """Let networks multiply in a precision; what they return is float32.

    Raises:
        CrossmodalError: If the instructions for it are switched off.
    """
    if precision == "float32":
        return
    refuse_portable()
    for network in networks:
        for layer in network.modules():
            if isinstance(layer, Linear):  # PyTorch's own has the products of bfloat16
                vars(layer)["forward"] = partial(nn.Linear.forward, layer)
        # `forward` is replaced, not the network wrapped, so that names of parameters stay
        vars(network)["forward"] = partial(_in_bfloat16, network.forward)


def refuse_portable() -> None:
    """Refuse to multiply in bfloat16 with the instructions of `portable`, which have none for it.

    Raises:
        CrossmodalError: If a processor is limited to them.
    """
    name = "ONEDNN_MAX_CPU_ISA"
    if device().type == "cpu" and os.environ.get(name) == PORTABLE[name]:
        raise CrossmodalError(
            "precision: is 'bfloat16', whose digits are a processor's own, with `portable: true`; "
            "set it to 'float32', or `portable` to false"
        )


def narrowed(x: torch.Tensor) -> torch.Tensor:
    """Return rows for `onednn.linear`, which leaves bfloat16 to PyTorch, where that is wanted."""
    return x.bfloat16() if torch.is_autocast_enabled(x.device.type) else x


def _in_bfloat16(forward: Callable[..., torch.Tensor], *inputs: object) -> torch.Tensor:
    with torch.autocast(device().type, torch.bfloat16):
        return forward(*inputs).float()
