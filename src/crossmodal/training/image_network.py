"""What all methods share that may have an image network of their own: files, crops and captions.

An image is a row of a frozen network's features, or an image file that a network reads which
belongs to the method.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import nn

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import View
from crossmodal.device import device, half_precision
from crossmodal.images.crops import Preparation
from crossmodal.images.prefetch import prefetched
from crossmodal.images.random_crops import Pictures
from crossmodal.pretrained import backbones
from crossmodal.pretrained.weights import weights_file
from crossmodal.training.gradient import GradientMethod

ROWS = 64  # images embedded at a time
WORKERS = 7  # decode image files

Images = torch.Tensor | Pictures


class ImageNetworkMethod(GradientMethod):
    """A method whose options `image_network` and `image_weights` may name a network, its `trunk`.

    Attributes:
        mirrors: Whether half of the crops of image files are mirrored in training.
    """

    mirrors: ClassVar[bool]

    @property
    def weights(self) -> str:
        """File of the image network's weights, see `Method`."""
        network = self.options.image_network
        return weights_file(network, self.options.image_weights) if network else ""

    @property
    def threads(self) -> int:
        """One, and those of the processes that decode image files."""
        return 1 + WORKERS if self.options.image_network else 1

    @property
    def preparation(self) -> Preparation:
        """Input format of the image network."""
        return backbones.network(self.options.image_network).preparation

    @abstractmethod
    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Embeddings (b, ...) of rows of image features, or of what `run_trunk` returns."""

    def trunk(self) -> nn.Module:
        """The image network, with the weights to begin with if they are at hand."""
        if self.initial_weights or not self.weights:
            return backbones.make_network(self.options.image_network, self.initial_weights, seed=0)
        return backbones.untrained(self.options.image_network)

    def place_images(self, view: View) -> Images:
        """Features (n, ...) on the device in their stored precision, or the files."""
        if isinstance(view.features, Ragged):
            return Pictures(view.features, view.ids, self.preparation)
        return torch.from_numpy(view.features).to(device())

    def encode_images(self, view: View) -> Iterable[torch.Tensor]:
        """Embeddings of images, in pieces; of files by the centre of the middle square."""
        images = self.place_images(view)
        if isinstance(images, Pictures):
            rows = np.split(np.arange(len(images)), range(ROWS, len(images), ROWS))
            yield from (self.embed_images(crops[0]) for crops in self.read_crops(images, rows, 1))
        else:
            yield from map(self.embed_images, images.split(ROWS))

    def random_crops(
        self, images: Pictures, batches: list[np.ndarray], rng: np.random.Generator
    ) -> Iterable[torch.Tensor]:
        """A new part of each image, (b, crop, crop, 3) uint8 RGB of each batch.

        Args:
            images: The files.
            batches: Rows of each batch, (b,).
            rng: All that is drawn follows from it.
        """
        seeds = rng.integers(2**63, size=len(batches)).tolist()
        requests = [(*drawn, self.mirrors) for drawn in zip(batches, seeds, strict=True)]
        return prefetched(images.random_crops, requests, self.available_threads - 1)

    def read_crops(
        self, images: Pictures, batches: list[np.ndarray], count: Literal[1, 10]
    ) -> Iterable[torch.Tensor]:
        """What the image network makes of fixed crops of the middle square, (count, b, ...) each.

        Args:
            images: The files.
            batches: Rows of each batch, (b,).
            count: See `Preparation.crops`.
        """
        requests = [(rows,) for rows in batches]
        for squares in prefetched(images.squares, requests, self.available_threads - 1):
            pixels = self.preparation.crops(squares.to(device(), non_blocking=True), count)
            crops = pixels.unflatten(0, (count, -1))
            yield torch.stack([self.run_trunk(crop) for crop in crops])

    def read_random_crops(self, crops: torch.Tensor) -> torch.Tensor:
        """What the image network makes of `random_crops` (b, crop, crop, 3)."""
        return self.run_trunk(self.preparation.normalised(crops.to(device(), non_blocking=True)))

    def run_trunk(self, crops: torch.Tensor) -> torch.Tensor:
        """What the image network makes of crops (b, 3, 224, 224), in single precision."""
        with half_precision():
            return self.network["trunk"](crops).float()


def epoch_captions(
    owners: np.ndarray, which: Literal["all", "one"], rng: np.random.Generator
) -> np.ndarray:
    """Rows of the captions of an epoch: all, or a random one of each image.

    Args:
        owners: Image of each caption, (n,), captions of one image side by side.
        which: The option `captions_per_epoch`.
        rng: Draws them.
    """
    if which == "all":
        return np.arange(len(owners))
    _, first, counts = np.unique(owners, return_index=True, return_counts=True)
    return first + rng.integers(counts)
