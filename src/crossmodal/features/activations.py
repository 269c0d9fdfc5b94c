"""Activations of every layer of a network trained on ImageNet, averaged over crops.

    a(x) = 1/C sum_c p(x_c),

with x_c the crops of image x and p the read-out of the network (see `crossmodal.backbones`).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field

from crossmodal import backbones, vision
from crossmodal.devices import device
from crossmodal.features.base import Feature
from crossmodal.files import sha256
from crossmodal.prepared import Item, Prepared
from crossmodal.store import FeatureFile

# more at once are slower on a processor: its allocator gives large buffers back each time
CROPS_AT_ONCE = {"cpu": 10, "cuda": 160}


class Activations(Feature):
    """All layers of a frozen network: float32 (n, sum of widths), in forward order.

    Args:
        backbone: Which network.
        weights: 'imagenet' (torchvision's first), 'random', or a file in `data/raw/weights/`.
        crops: 10, or 1 for the centre alone.
        resize: To 256 x 256 pixels ('warp256'), or the short side to 256 ('short256').
        tap: Read layers before or after their ReLU.
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
        crops: Literal[1, 10],
        resize: vision.Resize,
        tap: backbones.Tap,
        seed: Annotated[int, Field(ge=0)],
    ) -> None:
        self.weights = backbones.weights_file(backbone, weights)
        self.backbone, self.crops, self.resize = backbone, crops, resize
        self.tap, self.seed = tap, seed

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Load the network, or draw its weights."""
        path = Path(weights) if self.weights else None
        network = backbones.make_network(self.backbone, path, self.seed)
        self.checksum = sha256(path) if path else ""
        network, self.layers = backbones.read_out(network, self.tap)
        self.device = device()
        self.network = network.to(self.device, memory_format=torch.channels_last)

    def extract(
        self, dataset: Prepared, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Read out all layers, a few images at a time."""
        images = max(1, CROPS_AT_ONCE[self.device.type] // self.crops)
        layers = []
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            for start in range(0, len(rows), images):
                members = [item.image for item in rows[start : start + images]]
                contents = [dataset.read(member) for member in members]
                # alternates with the network on a processor, overlaps with it on a GPU
                squares = pool.map(vision.square, contents, members, repeat(self.resize))
                layers.append(self._read_out(torch.stack([*squares])))
        return torch.cat(layers).cpu().numpy()

    @torch.inference_mode()
    def _read_out(self, squares: torch.Tensor) -> torch.Tensor:
        """Layers of squares (n, 256, 256, 3), averaged over their crops: (n, sum of widths)."""
        layers = self.network(vision.crops(squares.to(self.device), self.crops))
        return layers.unflatten(0, (self.crops, -1)).mean(0)

    def learnt(self) -> dict[str, Any]:
        """Names and columns of the layers, columns of the one-layer embedding, the weights."""
        width = self.layers[-1].stop
        return {
            "layers": [astuple(layer) for layer in self.layers],
            "one_layer": [width - backbones.NETWORKS[self.backbone].width, width],
            "backbone": self.backbone,
            "weights": self.weights,
            "sha256": self.checksum,
        }
