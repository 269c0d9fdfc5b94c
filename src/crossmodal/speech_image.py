"""What all methods on images and spoken captions share: pairs, batches, clips and image features.

An image is a row of a frozen network's features, or an image file that a network reads which
belongs to the method.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from crossmodal import backbones
from crossmodal.data import Split, View
from crossmodal.devices import device, half_precision
from crossmodal.encoders.davenet import BINS
from crossmodal.encoders.sequences import Sequences
from crossmodal.errors import CrossmodalError
from crossmodal.pictures import Pictures
from crossmodal.store import Ragged
from crossmodal.training import GradientMethod, shuffled_batches

STRIDE = 16  # of the networks that read speech; frames are padded to a multiple
ROWS = 64  # clips or images embedded at a time

Batch = tuple[np.ndarray, np.ndarray]
Images = torch.Tensor | Pictures
Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]
BatchSize = Annotated[int, Field(gt=1)]
Frames = Annotated[int, Field(gt=0, multiple_of=STRIDE)]
Decibels = Annotated[float, Field(ge=-80, le=0)]
CaptionsPerEpoch = Literal["all", "one"]


class SpeechImageMethod(GradientMethod):
    """Learns from pairs of an image and a clip.

    Attributes:
        batch: Pairs per step.
        captions_per_epoch: All captions of an image, or a random one.
        max_frames: Clips are cut here; 10 ms each.
        trim: Pad a batch to its longest clip, not to `max_frames`: faster, not bit-identical.
        padding: Level of the frames behind a clip, in dB below its loudest value.
        image_network: The network that reads image files; None if images are features.
        weights: See `Method`; of the image network.
    """

    task = "instance"
    batch: int
    captions_per_epoch: CaptionsPerEpoch
    max_frames: int
    trim: bool
    padding: float
    image_network: backbones.Name | None

    @abstractmethod
    def embed_images(self, images: Images, rows: np.ndarray) -> torch.Tensor:
        """Embeddings (b, ...) of some images, without augmentation."""

    @abstractmethod
    def embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Embeddings (b, ...) of some clips, whose shape depends on `clips` alone."""

    def trunk(self) -> nn.Module:
        """The image network, with the weights to begin with if they are at hand."""
        if self.initial_weights or not self.weights:
            return backbones.make_network(self.image_network, self.initial_weights, seed=0)
        return backbones.untrained(self.image_network)

    def place(self, train: Split) -> None:
        """Images and clips on the device; the captions of each item."""
        if len(train.views["image"].items) != len(train.items):
            raise CrossmodalError(
                f"view 'image': {len(train.views['image'].items)} rows for {len(train.items)} "
                "items; the method needs one row per image"
            )
        self.images = self.place_images(train.views["image"])
        self.clips = self._place_clips(train.views["speech"])
        self.owners = train.views["speech"].items

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Shuffled pairs as rows of images and clips; a last batch of one has no negatives."""
        clips = self._captions(rng)
        for batch in shuffled_batches(len(clips), self.batch, rng, drop_last=False):
            if len(batch) > 1:
                yield self.owners[clips[batch]], clips[batch]

    def _captions(self, rng: np.random.Generator) -> np.ndarray:
        """The clips of one epoch."""
        if self.captions_per_epoch == "all":
            return np.arange(len(self.owners))
        _, first, counts = np.unique(self.owners, return_index=True, return_counts=True)
        return first + rng.integers(counts)

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Embeddings of images or clips."""
        if modality == "speech":
            yield self._encode_clips(self._place_clips(view))
            return
        images = self.place_images(view)
        for start in range(0, len(images), ROWS):
            yield self.embed_images(images, np.arange(start, min(start + ROWS, len(images))))

    def _encode_clips(self, clips: Sequences) -> torch.Tensor:
        """Clips padded to the same size go together, so that no clip depends on the others."""
        sizes = self._padded(clips.lengths.numpy())
        order = np.argsort(sizes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1)
        parts = [g[start : start + ROWS] for g in groups for start in range(0, len(g), ROWS)]
        embeddings = torch.cat([self.embed_clips(clips, part) for part in parts])
        return embeddings[np.argsort(order)]

    def pad(self, clips: Sequences, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Frames (b, t, 40) of some clips, and their numbers (b,).

        Behind a clip lies `padding`.
        """
        size = int(self._padded(clips.lengths[rows].numpy()).max())
        return clips.pad(rows, size, self.padding)

    def _padded(self, frames: np.ndarray) -> np.ndarray:
        """Frames that clips of so many frames are padded to."""
        if not self.trim:
            return np.full_like(frames, self.max_frames)
        return -(-np.maximum(frames, 1) // STRIDE) * STRIDE

    def place_images(self, view: View) -> Images:
        """Features (n, ...) on the device in their stored precision, or the files."""
        if isinstance(view.features, Ragged):
            return Pictures(view.features, view.ids)
        return torch.from_numpy(view.features).to(device())

    def _place_clips(self, view: View) -> Sequences:
        return Sequences.place(view.features, self.max_frames, device())

    def run_trunk(self, crops: torch.Tensor) -> torch.Tensor:
        """What the image network makes of crops (b, 3, 224, 224), in single precision."""
        with half_precision():
            return self.network["trunk"](crops).float()

    def check(self, views: dict[str, View], further: tuple[str, ...] = ()) -> None:
        """Whether these are views that the method can read.

        Args:
            views: The views; the first two are retrieved.
            further: Modalities that may follow them.

        Raises:
            CrossmodalError: If they are others, or not what the encoders read.
        """
        if set(list(views)[:2]) != {"image", "speech"} or not set(list(views)[2:]) <= set(further):
            also = f", then perhaps {' and '.join(further)}" if further else ""
            raise CrossmodalError(
                f"the method needs the views image and speech{also}, but has {', '.join(views)}; "
                "set `views` of the experiment"
            )
        self._check_images(views["image"].features)
        speech = views["speech"].features
        if not isinstance(speech, Ragged) or speech.values.shape[1:] != (BINS,):
            found = speech.values.shape if isinstance(speech, Ragged) else speech.shape
            raise CrossmodalError(
                f"view 'speech': rows of shape {found[1:]}; the method needs sequences of frames "
                f"with {BINS} bins, choose a log-mel feature"
            )

    def _check_images(self, features: np.ndarray | Ragged) -> None:
        files = isinstance(features, Ragged)
        if files and features.values.dtype != np.uint8:
            raise CrossmodalError(
                "view 'image': its rows are sequences; the method needs one row each, or the "
                "files (plug-in `pictures`)"
            )
        if files != (self.image_network is not None):
            raise CrossmodalError(
                f"view 'image': it has {'image files' if files else 'features'}, but image_network "
                f"is {self.image_network}; name a network for files, null for features"
            )
