"""Maps of a frozen convolutional network, of the centre crop."""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d

from crossmodal.features._backbone import BackboneFeature
from crossmodal.images import backbones
from crossmodal.images.read_out import ReadOut, fold
from crossmodal.options import Count
from crossmodal.resources.networks import READ_OUTS
from crossmodal.resources.sizes import Extent, RowSize


class Maps(BackboneFeature):
    """Rectified maps, float16 (n, channels, side, side)."""

    class Options(BackboneFeature.Options):
        layers: Literal["last", "blocks"] = Field(
            description="The last maps, or those that end the stem, 'blocks' and the head, as the "
            "plug-in `activations` reads them."
        )
        side: Count = Field(
            description="Cells of a side of the grid in which each map is averaged."
        )

        @model_validator(mode="after")
        def _check_blocks(self) -> Self:
            if self.layers == "blocks" and not backbones.NETWORKS[self.backbone].blocks:
                raise ValueError(f"layers: {self.backbone} has no blocks; choose 'last'")
            return self

    shape = "maps"

    def _read_out(self, network: nn.Module) -> nn.Module:
        o = self.options
        if o.layers == "blocks":
            blocks = backbones.NETWORKS[o.backbone].blocks
            return ReadOut(network, "post", blocks, o.side).to(self.device)
        return backbones.Maps(fold(network), o.backbone).eval().to(self.device)

    @torch.inference_mode()
    def _values(self, squares: torch.Tensor) -> torch.Tensor:
        maps = self.network(self.preparation.crops(squares.to(self.device), self.crop_count))
        return adaptive_avg_pool2d(maps, self.options.side).half()

    def row_size(self, extent: Extent, sources: dict[str, RowSize]) -> RowSize:
        """Channels and cells."""
        o = self.options
        last = backbones.NETWORKS[o.backbone].maps_width
        width = last if o.layers == "last" else READ_OUTS[o.backbone][o.layers]
        return RowSize(extent.total, width * o.side**2, 2)
