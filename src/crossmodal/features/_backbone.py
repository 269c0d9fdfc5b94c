"""Features read out of a frozen convolutional network."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice, repeat
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Item, Items
from crossmodal.features._frozen import FrozenFeature
from crossmodal.images.crops import Preparation, Resize
from crossmodal.io.files import JsonObject
from crossmodal.nn.precision import Precision, compute_in
from crossmodal.plugin import Strict
from crossmodal.pretrained import backbones
from crossmodal.pretrained.network_facts import Network
from crossmodal.pretrained.weights import Weights, weights_file

# larger batches are slower on a CPU: its allocator returns large buffers each time
CROPS_AT_ONCE = {"cpu": 10, "cuda": 160}


class BackboneFeature(FrozenFeature):
    """Values that a frozen network computes from crops of each image.

    Attributes:
        network: The network, from crops to values; loaded by `setup`.
        crop_count: Crops of each image.
    """

    class Options(Strict):
        backbone: backbones.Name = Field(
            description="The network: one of the papers', or `timm/NAME`, any of timm's."
        )
        weights: Weights = Field(
            "imagenet",
            description="'imagenet': the official ImageNet weights, of torchvision the first ones, "
            "of `timm/NAME` those of its hub; 'random': drawn from `seed`; otherwise the name of a "
            "safetensors file in `data/raw/weights/`.",
        )
        resize: Resize = Field(
            description="How an image becomes the square that the network's input is cut from: "
            "'warp' changes the aspect ratio, 'short' cuts the ends of the long side."
        )
        seed: int = Field(0, ge=0, description="Seed of random weights.")
        precision: Precision = "float32"

    options: Options
    modality = "image"
    reads = ("items.csv", "media.zip")
    crop_count: Literal[1, 10] = 1

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.weights = weights_file(self.options.backbone, self.options.weights)

    @property
    def facts(self) -> Network:
        """Return the layout of the network."""
        return backbones.network(self.options.backbone)

    @property
    def preparation(self) -> Preparation:
        """Return input format of the network."""
        return self.facts.preparation

    def setup(self, weights: Path | None) -> None:
        """Load the network, or draw its weights."""
        network = backbones.make_network(self.options.backbone, weights, self.options.seed)
        super().setup(weights)
        self.network = self._read_out(network)
        if self.options.precision == "bfloat16":
            for layer in self.network.modules():
                if isinstance(layer, nn.Conv2d | nn.Linear):
                    layer.bfloat16()  # once, since they learn no more
        compute_in(self.options.precision, self.network)

    @abstractmethod
    def _read_out(self, network: nn.Module) -> nn.Module:
        """Return the part of a network that is run, on `device`."""

    @abstractmethod
    def _values(self, squares: torch.Tensor) -> torch.Tensor:
        """Return rows of squares (n, side, side, 3)."""

    def extract(
        self, dataset: Items, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Run the network on a few images at a time; on a CPU, on several such batches at once."""
        size = max(1, CROPS_AT_ONCE[self.device.type] // self.crop_count)
        members = [item.image for item in rows]
        contents = (dataset.read(member) for member in members)
        names = (dataset.where(member) for member in members)
        with self.pool() as pool:
            squares = pool.map(
                self.preparation.square, contents, names, repeat(self.options.resize)
            )
            batches = (torch.stack([*islice(squares, size)]) for _ in range(0, len(members), size))
            return torch.cat([*self.mapped(pool, self._values, batches)]).cpu().numpy()

    def learnt(self) -> JsonObject:
        """Return the network, its weights file and the checksum of the file."""
        return {"backbone": self.options.backbone, **super().learnt()}
