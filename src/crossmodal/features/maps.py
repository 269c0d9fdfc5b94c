"""Maps of a frozen convolutional network, of the centre crop."""

from dataclasses import replace
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d

from crossmodal.features._backbone import BackboneFeature
from crossmodal.images.crops import Preparation
from crossmodal.plugin import Count
from crossmodal.pretrained import backbones
from crossmodal.pretrained.read_out import ReadOut, fold


class Maps(BackboneFeature):
    """Rectified maps, of `timm/NAME` as they are, float16 (n, channels, side, side)."""

    class Options(BackboneFeature.Options):
        layers: Literal["last", "blocks"] = Field(
            description="The last maps, or those that end the stem, 'blocks' and the head, as the "
            "plug-in `activations` reads them."
        )
        side: Count = Field(
            description="Cells of a side of the grid in which each map is averaged."
        )
        crop: Count | None = Field(
            None,
            description="Side in pixels of the part of an image that the network sees, to which "
            "the whole is enlarged in proportion; null: the side that it was made for.",
        )

        @model_validator(mode="after")
        def _check_blocks(self) -> Self:
            network = backbones.network(self.backbone)
            if not network.maps_width:
                raise ValueError(
                    f"backbone: {self.backbone} ends in no maps; choose a convolutional network"
                )
            if self.layers == "blocks" and not network.blocks:
                raise ValueError(f"layers: {self.backbone} has no blocks; choose 'last'")
            return self

    options: Options
    shape = "maps"

    @property
    def preparation(self) -> Preparation:
        """Return input format of the network, enlarged as the options say."""
        own, crop = super().preparation, self.options.crop
        if crop is None:
            return own
        return replace(own, side=round(own.side * crop / own.crop), crop=crop)

    def _read_out(self, network: nn.Module) -> nn.Module:
        o = self.options
        if o.layers == "blocks":
            return ReadOut(network, "post", self.facts.blocks, o.side).to(self.device)
        trunk = fold(network) if self.facts.classifier else network
        return backbones.Maps(trunk, o.backbone).eval().to(self.device)

    @torch.inference_mode()
    def _values(self, squares: torch.Tensor) -> torch.Tensor:
        maps = self.network(self.preparation.crops(squares.to(self.device), self.crop_count))
        return adaptive_avg_pool2d(maps, self.options.side).half()
