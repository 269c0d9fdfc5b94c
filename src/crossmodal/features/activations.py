"""Activations of the layers of a network trained on ImageNet, averaged over crops.

    a(x) = 1/C sum_c p(x_c),

with x_c the crops of image x and p the read-out of the network (see `crossmodal.images.read_out`).
"""

from dataclasses import astuple, replace
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from crossmodal.features._backbone import BackboneFeature
from crossmodal.images.backbones import NETWORKS
from crossmodal.images.read_out import ReadOut, Tap
from crossmodal.resources.networks import READ_OUTS
from crossmodal.resources.sizes import Extent, RowSize


class Activations(BackboneFeature):
    """Layers of a frozen network: float32 (n, sum of widths), in forward order."""

    class Options(BackboneFeature.Options):
        crops: Literal[1, 10] = Field(
            description="Crops of each image: 10, or 1 for the centre alone."
        )
        layers: Literal["all", "blocks", "last"] = Field(
            description="Which layers are read: 'all', those that end the stem, 'blocks' and the "
            "head, or the 'last' before the classifier, which `fc7` cuts out of the others."
        )
        tap: Tap = Field(
            description="Whether layers are read before ('pre') or after ('post') their activation."
        )

        @model_validator(mode="after")
        def _check_blocks(self) -> Self:
            if self.layers == "blocks" and not NETWORKS[self.backbone].blocks:
                raise ValueError(f"layers: {self.backbone} has no blocks; choose 'all'")
            return self

    invertible = False  # means over positions: an image made from them is another one

    @property
    def crop_count(self) -> Literal[1, 10]:
        """Crops of each image."""
        return self.options.crops

    def _read_out(self, network: nn.Module) -> nn.Module:
        blocks = NETWORKS[self.options.backbone].blocks if self.options.layers == "blocks" else ""
        reader = ReadOut(network, self.options.tap, blocks)
        self.layers = reader.layers
        if self.options.layers == "last":
            cut = reader.layers[-1].stop - NETWORKS[self.options.backbone].width
            kept = [layer for layer in reader.layers if layer.start >= cut]
            self.layers = [replace(x, start=x.start - cut, stop=x.stop - cut) for x in kept]
        return reader.to(self.device, memory_format=torch.channels_last)

    @torch.inference_mode()
    def _values(self, squares: torch.Tensor) -> torch.Tensor:
        """Layers of squares (n, side, side, 3), averaged over their crops: (n, sum of widths)."""
        layers = self.network(self.preparation.crops(squares.to(self.device), self.crop_count))
        kept = layers[:, -self.layers[-1].stop :]
        return kept.unflatten(0, (self.crop_count, -1)).mean(0)

    def learnt(self) -> dict[str, Any]:
        """Names and columns of the layers, columns of the one-layer embedding, the weights."""
        width = self.layers[-1].stop
        return {
            "layers": [astuple(layer) for layer in self.layers],
            "one_layer": [width - NETWORKS[self.options.backbone].width, width],
            **super().learnt(),
        }

    def row_size(self, extent: Extent, sources: dict[str, RowSize]) -> RowSize:
        """The columns of the layers that are read."""
        o = self.options
        layer = NETWORKS[o.backbone].width
        width = layer if o.layers == "last" else READ_OUTS[o.backbone][o.layers]
        return RowSize(extent.total, width, layer=layer)
