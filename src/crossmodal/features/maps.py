"""The last convolutional maps of a frozen network, of the centre crop."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch.nn.functional import avg_pool2d

from crossmodal import backbones, vision
from crossmodal.devices import device
from crossmodal.features.base import Feature
from crossmodal.files import sha256
from crossmodal.prepared import Item, Prepared
from crossmodal.store import FeatureFile

IMAGES_AT_ONCE = {"cpu": 10, "cuda": 160}


class Maps(Feature):
    """Rectified maps, float16 (n, channels, height, width).

    Args:
        backbone: Which network.
        weights: 'imagenet' (torchvision's first), 'random', or a file in `data/raw/weights/`.
        resize: To 256 x 256 pixels ('warp256'), or the short side to 256 ('short256').
        pool: Side of the squares of places that are averaged, 1 for none.
        seed: Seed of random weights.
    """

    modality = "image"
    reads = ("items.csv", "media.zip")
    threads = 8
    gpu = True

    def __init__(
        self,
        backbone: backbones.Name,
        weights: backbones.Weights,
        resize: vision.Resize,
        pool: Annotated[int, Field(gt=0)],
        seed: Annotated[int, Field(ge=0)],
    ) -> None:
        self.weights = backbones.weights_file(backbone, weights)
        self.backbone, self.resize, self.pool, self.seed = backbone, resize, pool, seed

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Load the network, or draw its weights."""
        path = Path(weights) if self.weights else None
        network = backbones.make_network(self.backbone, path, self.seed)
        self.checksum = sha256(path) if path else ""
        self.network = backbones.Maps(network, self.backbone).eval().to(device())

    @torch.inference_mode()
    def extract(
        self, dataset: Prepared, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Run the network on a few images at a time."""
        size = IMAGES_AT_ONCE[device().type]
        members = [item.image for item in rows]
        parts = []
        for start in range(0, len(rows), size):
            part = members[start : start + size]
            squares = [vision.square(dataset.read(m), m, self.resize) for m in part]
            maps = self.network(vision.crops(torch.stack(squares).to(device()), 1))
            parts.append(avg_pool2d(maps, self.pool).half().cpu())
        return torch.cat(parts).numpy()

    def learnt(self) -> dict[str, Any]:
        """The network and its weights."""
        return {"backbone": self.backbone, "weights": self.weights, "sha256": self.checksum}
