"""What all methods on images and spoken captions share: pairs, batches and clips."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch

from crossmodal.data.feature import Shape
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.images.random_crops import Pictures
from crossmodal.learning.method import Takes
from crossmodal.methods._speech_image_options import STRIDE, SpeechImageOptions
from crossmodal.nn.sequences import Sequences, batches_of_similar_length
from crossmodal.training.gradient import shuffled_batches
from crossmodal.training.image_network import ROWS, ImageNetworkMethod, epoch_captions


class Batch(NamedTuple):
    """Pairs of an image and a clip.

    Args:
        images: Rows of the images, (b,).
        clips: Rows of the clips, (b,).
        crops: Of image files that the network learns from, a new part of each, (b, crop, crop, 3)
            uint8 RGB.
    """

    images: np.ndarray
    clips: np.ndarray
    crops: torch.Tensor | None = None


def frame_width(view: View) -> int:
    """Numbers of a frame of speech."""
    return view.features.values.shape[1]


class SpeechImageMethod(ImageNetworkMethod):
    """Learns from pairs of an image and a clip.

    Attributes:
        image_shapes: What a row of image features may be.
    """

    Options = SpeechImageOptions
    task = "instance"
    image_shapes: tuple[Shape, ...] = ("vector",)

    @property
    def takes(self) -> Takes:
        """Files of images for a network, otherwise `image_shapes`; frames of speech."""
        images = ("files",) if self.options.image_network else self.image_shapes
        return {"image": images, "speech": ("sequence",)}

    @property
    def accumulate(self) -> int:
        """Batches per step."""
        return self.options.accumulate

    @property
    def learns_from_files(self) -> bool:
        """Whether each batch of the present phase has new crops of image files."""
        return isinstance(self.images, Pictures)

    @abstractmethod
    def embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Embeddings (b, ...) of some clips, whose shape depends only on `clips`."""

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
        """Shuffled pairs; a last batch of one has no negatives."""
        options, size = self.options, self.options.batch
        clips = epoch_captions(self.owners, options.captions_per_epoch, rng)
        if options.similar_lengths:
            rows = batches_of_similar_length(self.clips.lengths[clips], size, rng)
        else:
            rows = shuffled_batches(len(clips), size, rng, drop_last=False)
        batches = [Batch(self.owners[clips[r]], clips[r]) for r in rows if len(r) > 1]
        return self._with_crops(batches, rng) if self.learns_from_files else batches

    def _with_crops(self, batches: list[Batch], rng: np.random.Generator) -> Iterable[Batch]:
        """The same with a new crop of each image."""
        found = self.random_crops(self.images, [batch.images for batch in batches], rng)
        for batch, crops in zip(batches, found, strict=True):
            yield batch._replace(crops=crops)

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Embeddings of images or clips."""
        if modality == "speech":
            yield self._encode_clips(self._place_clips(view))
        else:
            yield from self.encode_images(view)

    def _encode_clips(self, clips: Sequences) -> torch.Tensor:
        """Clips padded to the same size go together, so that no clip depends on the others."""
        sizes = self._padded(clips.lengths)
        order = np.argsort(sizes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1)
        parts = [g[start : start + ROWS] for g in groups for start in range(0, len(g), ROWS)]
        embeddings = torch.cat([self.embed_clips(clips, part) for part in parts])
        return embeddings[np.argsort(order)]

    def pad(
        self, clips: Sequences, rows: np.ndarray, size: int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Frames (b, t, bins) of some clips, padded with `padding`, and their counts (b,).

        Args:
            clips: All clips.
            rows: Which of them.
            size: Padded frames t; by default `padded_size` of these clips.
        """
        return clips.pad(rows, size or self.padded_size(clips, rows), self.options.padding)

    def padded_size(self, clips: Sequences, rows: np.ndarray) -> int:
        """Frames that some clips are padded to when they go together."""
        return int(self._padded(clips.lengths[rows]).max())

    def _padded(self, frames: np.ndarray) -> np.ndarray:
        """Frames that clips of so many frames are padded to."""
        if not self.options.trim:
            return np.full_like(frames, self.options.max_frames)
        return -(-np.maximum(frames, 1) // STRIDE) * STRIDE

    def _place_clips(self, view: View) -> Sequences:
        return Sequences(view.features, self.options.max_frames)

    def check(self, views: dict[str, View]) -> None:
        """Whether these are views that the method can read.

        Args:
            views: The views; the first two are retrieved.

        Raises:
            CrossmodalError: If they are others, or not what the encoders read.
        """
        first, further = list(views)[:2], list(views)[2:]
        if set(first) != {"image", "speech"} or not set(further) <= set(self.further):
            also = f", then perhaps {' and '.join(self.further)}" if self.further else ""
            raise CrossmodalError(
                f"the method needs the views image and speech{also}, but has {', '.join(views)}; "
                "set `views` of the experiment"
            )
        self._check_images(views["image"].features)
        speech = views["speech"].features
        if not isinstance(speech, Ragged) or speech.values.ndim != 2:
            found = speech.values.shape if isinstance(speech, Ragged) else speech.shape
            raise CrossmodalError(
                f"view 'speech': rows of shape {found[1:]}; the method needs sequences of frames, "
                "choose a log-mel feature or a network's frames"
            )

    def _check_images(self, features: np.ndarray | Ragged) -> None:
        files = isinstance(features, Ragged)
        if files and features.values.dtype != np.uint8:
            raise CrossmodalError(
                "view 'image': its rows are sequences; the method needs one row each, or the "
                "files (plug-in `pictures`)"
            )
        if files != (self.options.image_network is not None):
            raise CrossmodalError(
                f"view 'image': it has {'image files' if files else 'features'}, but image_network "
                f"is {self.options.image_network}; name a network for files, null for features"
            )
