"""Activations of the layers of a network trained on ImageNet, averaged over crops.

    a(x) = 1/C sum_c p(x_c),

with x_c the crops of image x and p the read-out of the network (`pretrained.read_out`).
"""

from dataclasses import astuple, replace
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from crossmodal.features._backbone import BackboneFeature
from crossmodal.io.files import JsonObject
from crossmodal.pretrained import backbones
from crossmodal.pretrained.read_out import Layer, ReadOut
from crossmodal.pretrained.timm_read_out import TimmReadOut

NAMED = {"all": "activations after convolutions", "blocks": "blocks"}


class Activations(BackboneFeature):
    """Layers of a frozen network: float32 (n, sum of widths), in forward order."""

    class Options(BackboneFeature.Options):
        crops: Literal[1, 10] = Field(
            description="Crops of each image: 10, or 1 for the centre alone."
        )
        layers: Literal["all", "blocks", "last"] = Field(
            description="Which layers are read: 'all', those that end the stem, 'blocks' and the "
            "head, or the 'last' before the classifier, which `fc7` cuts out of the others. Of "
            "`timm/NAME`, 'all' are its convolutions, if it has any with an activation."
        )

        @model_validator(mode="after")
        def _check_layers(self) -> Self:
            network = backbones.network(self.backbone)
            if self.layers not in (readouts := [*network.readouts, "last"]):
                raise ValueError(
                    f"layers: {self.backbone} has no {NAMED[self.layers]}; choose "
                    f"{' or '.join(map(repr, readouts))}"
                )
            return self

    options: Options
    invertible = False  # means over positions: an image made from them is another one

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.crop_count = self.options.crops

    def _read_out(self, network: nn.Module) -> nn.Module:
        reader, self.layers = self._reader(network)
        reader.to(self.device)
        return reader.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # no stub

    def _reader(self, network: nn.Module) -> tuple[nn.Module, list[Layer]]:
        """Return the read-out of a network, and its layers that are read."""
        o = self.options
        if not self.facts.classifier:
            timm_reader = TimmReadOut(network, o.layers, self.preparation.crop)
            return timm_reader, timm_reader.layers
        reader = ReadOut(network, "post", self.facts.blocks if o.layers == "blocks" else "")
        if o.layers != "last":
            return reader, reader.layers
        cut = reader.layers[-1].stop - self.facts.width
        last = [layer for layer in reader.layers if layer.start >= cut]
        return reader, [replace(x, start=x.start - cut, stop=x.stop - cut) for x in last]

    def outline(self) -> list[Layer]:
        """Return the layers that are read, without weights."""
        return self._reader(backbones.without_memory(self.options.backbone))[1]

    @torch.inference_mode()
    def _values(self, squares: torch.Tensor) -> torch.Tensor:
        """Return layers (n, sum of widths) of squares (n, side, side, 3), averaged over crops."""
        layers = self.network(self.preparation.crops(squares.to(self.device), self.crop_count))
        columns = layers[:, -self.layers[-1].stop :]
        return columns.unflatten(0, (self.crop_count, -1)).mean(0)

    def learnt(self) -> JsonObject:
        """Return the layers' names and columns, those of the one-layer embedding, the weights."""
        width = self.layers[-1].stop
        return {
            "layers": [astuple(layer) for layer in self.layers],
            "one_layer": [width - self.facts.width, width],
            **super().learnt(),
        }
