"""Images of a method: rows of a frozen network's features, or files that its own network reads."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from torch import nn

from crossmodal.data.split import View
from crossmodal.device import device, half_precision, to_device
from crossmodal.images.prefetch import prefetched
from crossmodal.images.random_crops import Pictures
from crossmodal.io.snapshots import computed_once
from crossmodal.learning.method import Run
from crossmodal.pretrained import backbones
from crossmodal.pretrained.weights import weights_file
from crossmodal.training.pairs import Batch
from crossmodal.training.processes import broadcast_from_first

ROWS = 64  # images embedded at a time
WORKERS = 7  # processes that decode image files
CROPS: Literal[10] = 10  # of each image, stored while the network is frozen


class ImageRows:
    """Images as features of a frozen network.

    Attributes:
        weights: See `Method`.
        threads: See `Method`.
        rows: Features of the training split on the device, in their stored precision.
    """

    weights, threads = "", 1
    rows: torch.Tensor

    def place(self, view: View) -> None:
        """Keep the training images on the device."""
        self.rows = _on_device(view)

    def with_crops(self, batches: list[Batch], rng: np.random.Generator) -> Iterable[Batch]:
        """Return the batches as they are."""
        return batches

    def features(self, batch: Batch, part: slice = slice(None)) -> torch.Tensor:
        """Return the features of a part of a training batch, (b, ...)."""
        return self.rows[to_device(batch.images[part])]

    def read(self, view: View) -> Iterable[torch.Tensor]:
        """Return the features of a view's images, in order, in pieces."""
        return _on_device(view).split(ROWS)


class ImageFiles:
    """Image files and the network that reads them, the `trunk` of a method.

    Args:
        network: Name of the network.
        weights: Weights to begin with, as in params.yaml.
        mirrors: Whether half of the random crops are mirrored.
        stores_crops: Whether a frozen network reads ten fixed crops of each image once, of which
            one is drawn at each use; else each use has a new random crop.

    Attributes:
        weights: File of the weights, see `Method`.
        threads: See `Method`.
        learns: Whether the network learns in the present phase.
    """

    trunk: nn.Module
    threads = 1 + WORKERS

    def __init__(
        self, network: backbones.Name, weights: str, mirrors: bool, stores_crops: bool = False
    ) -> None:
        self.name, self.mirrors, self.stores_crops = network, mirrors, stores_crops
        self.weights, self.facts = weights_file(network, weights), backbones.network(network)
        self.preparation = self.facts.preparation

    def build(self, kind: type[backbones.Vectors] | type[backbones.Maps], run: Run) -> nn.Module:
        """Make the trunk, frozen, with the weights to begin with if they are at hand.

        Args:
            kind: Output of the trunk.
            run: Weights, threads and checkpoints of the fit.
        """
        self.run = run
        if run.weights or not self.weights:
            network = backbones.make_network(self.name, run.weights, seed=0)
        else:
            network = backbones.untrained(self.name)
        self.trunk, self.learns = kind(network, self.name), False
        return self.trunk

    def learn(self, learns: bool) -> None:
        """Let the trunk learn, or freeze it, from the next step on."""
        self.learns = learns
        self.trunk.requires_grad_(learns)

    def place(self, view: View) -> None:
        """Keep the training images, as files in main memory."""
        self.files = self._open(view)
        self.stored: np.ndarray | None = None  # (n, CROPS, F) on the host

    def with_crops(self, batches: list[Batch], rng: np.random.Generator) -> Iterable[Batch]:
        """Return the batches with a new random crop of each image, unless stored ones are used.

        Args:
            batches: Batches of an epoch.
            rng: Draws the crops.
        """
        if self._uses_stored():
            return batches
        seeds = rng.integers(2**63, size=len(batches)).tolist()
        requests = [(b.images, seed, self.mirrors) for b, seed in zip(batches, seeds, strict=True)]
        crops = prefetched(self.files.random_crops, requests, self.run.threads - 1)
        return (b._replace(crops=c) for b, c in zip(batches, crops, strict=True))

    def features(self, batch: Batch, part: slice = slice(None)) -> torch.Tensor:
        """Return the trunk's output for a part of a training batch, (b, ...)."""
        if self._uses_stored():
            return self._stored_features(batch, part)
        assert batch.crops is not None
        self.stored = None
        self.trunk.train(self.learns)  # a frozen network keeps its statistics
        crops = batch.crops[part].to(device(), non_blocking=True)
        with torch.set_grad_enabled(self.learns):
            return self._run(self.preparation.normalised(crops))

    def read(self, view: View) -> Iterable[torch.Tensor]:
        """Yield the trunk's output for the centre of a view's images, in order, in pieces."""
        files = self._open(view)
        batches = np.split(np.arange(len(files)), range(ROWS, len(files), ROWS))
        yield from (crops[0] for crops in self._read_crops(files, batches, 1))

    def _open(self, view: View) -> Pictures:
        return Pictures(view.sequences(), view.ids, self.preparation)

    def _uses_stored(self) -> bool:
        return self.stores_crops and not self.learns

    def _stored_features(self, batch: Batch, part: slice) -> torch.Tensor:
        """Return the features of one of the stored crops of each image."""
        if self.stored is None:
            self.stored = self._store_crops()
        chosen = torch.randint(CROPS, (len(batch.images),)).numpy()  # of the whole batch
        return to_device(self.stored[batch.images[part], chosen[part]])

    def _store_crops(self) -> np.ndarray:
        """Compute the features of each image's crops, (n, CROPS, F), or find them in a file."""
        folder, shape = self.run.checkpoints, (len(self.files), CROPS, self.facts.width)
        how = ("crops", shape, np.float16, self._fill)
        if folder:  # the first process writes the file, which the others then read
            broadcast_from_first(lambda: computed_once(folder, *how) is not None)
        return computed_once(folder, *how)

    @torch.no_grad()
    def _fill(self, stored: np.ndarray) -> None:
        """Write the features of each image's crops, (n, CROPS, F)."""
        self.trunk.eval()
        batches = np.array_split(np.arange(len(stored)), -(-len(stored) // ROWS))
        crops = self._read_crops(self.files, batches, CROPS)
        for rows, features in zip(batches, crops, strict=True):
            stored[rows] = features.transpose(0, 1).half().cpu().numpy()
        self.trunk.train()

    def _read_crops(
        self, files: Pictures, batches: list[np.ndarray], count: Literal[1, 10]
    ) -> Iterable[torch.Tensor]:
        """Yield the trunk's output for fixed crops of the middle square, (count, b, ...) each.

        Args:
            files: The images.
            batches: Rows of each batch, (b,).
            count: See `Preparation.crops`.
        """
        requests = [(rows,) for rows in batches]
        for squares in prefetched(files.squares, requests, self.run.threads - 1):
            pixels = self.preparation.crops(squares.to(device(), non_blocking=True), count)
            yield torch.stack([self._run(crop) for crop in pixels.unflatten(0, (count, -1))])

    def _run(self, crops: torch.Tensor) -> torch.Tensor:
        """Return the trunk's output for crops (b, 3, crop, crop), in single precision."""
        with half_precision():
            return self.trunk(crops).float()


ImageEncoder = ImageRows | ImageFiles


def _on_device(view: View) -> torch.Tensor:
    return torch.from_numpy(view.vectors()).to(device())
