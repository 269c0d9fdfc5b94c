"""The last convolutional maps of a frozen network, of the centre crop."""

import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import avg_pool2d

from crossmodal.features._backbone import BackboneFeature
from crossmodal.images import backbones
from crossmodal.images.read_out import fold
from crossmodal.options import Count
from crossmodal.resources.networks import MAP_SIDES
from crossmodal.resources.sizes import Extent, RowSize


class Maps(BackboneFeature):
    """Rectified maps, float16 (n, channels, height, width)."""

    class Options(BackboneFeature.Options):
        pool: Count = Field(
            description="Side, in cells of the map, of the squares that are averaged; 1 for none."
        )

    shape = "maps"

    def _read_out(self, network: nn.Module) -> nn.Module:
        return backbones.Maps(fold(network), self.options.backbone).eval().to(self.device)

    @torch.inference_mode()
    def _values(self, squares: torch.Tensor) -> torch.Tensor:
        maps = self.network(self.preparation.crops(squares.to(self.device), self.crop_count))
        return avg_pool2d(maps, self.options.pool).half()

    def row_size(self, extent: Extent, sources: dict[str, RowSize]) -> RowSize:
        """Channels and cells."""
        network = backbones.NETWORKS[self.options.backbone]
        side = MAP_SIDES[self.options.backbone] // self.options.pool
        return RowSize(extent.total, network.maps_width * side**2, 2)
