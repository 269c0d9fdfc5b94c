"""Images and spoken captions: the clips' encoder, and what the views must be."""

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

import numpy as np
import torch

from crossmodal.data.feature import Shape
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Takes
from crossmodal.methods._speech_image_options import STRIDE, SpeechImageOptions
from crossmodal.nn.sequences import Sequences
from crossmodal.training.image_encoder import ROWS, ImageEncoder, ImageFiles, ImageRows
from crossmodal.training.pairs import Batch, draw_pairs

Embed = Callable[[Sequences, np.ndarray], torch.Tensor]
Output = TypeVar("Output")


class ClipEncoder(Generic[Output]):
    """A network that reads clips, and how they are cut and padded for it.

    Args:
        options: Options of the method.

    Attributes:
        network: A function of frames (b, t, bins) and their counts (b,).
        clips: Those of the training split.
    """

    network: Callable[[torch.Tensor, torch.Tensor], Output]
    clips: Sequences

    def __init__(self, options: SpeechImageOptions) -> None:
        self.options = options

    def place(self, view: View) -> None:
        """Keep the training clips."""
        self.clips = self._open(view)

    def draw_pairs(self, owners: np.ndarray, rng: np.random.Generator) -> list[Batch]:
        """Draw the batches of an epoch as the options say.

        Args:
            owners: Image of each clip, (n,).
            rng: Draws clips and order.
        """
        o = self.options
        lengths = self.clips.lengths if o.similar_lengths else None
        return draw_pairs(owners, o.captions_per_epoch, o.batch, rng, lengths)

    def __call__(self, clips: Sequences, rows: np.ndarray, size: int | None = None) -> Output:
        """Encode some clips; see `pad`."""
        return self.network(*self.pad(clips, rows, size))

    def pad(
        self, clips: Sequences, rows: np.ndarray, size: int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return frames (b, t, bins) of some clips, padded with `padding`, and their counts (b,).

        Args:
            clips: All clips.
            rows: Which of them.
            size: Padded frames t; by default `padded_size` of these clips.
        """
        return clips.pad(rows, size or self.padded_size(clips, rows), self.options.padding)

    def padded_size(self, clips: Sequences, rows: np.ndarray) -> int:
        """Return the frames that some clips are padded to when they go together."""
        return int(self._padded(clips.lengths[rows]).max())

    def embed(self, view: View, embed: Embed) -> torch.Tensor:
        """Embed a view's clips; none depends on the others, as batches are of one padded size."""
        clips = self._open(view)
        sizes = self._padded(clips.lengths)
        order = np.argsort(sizes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1)
        parts = [g[start : start + ROWS] for g in groups for start in range(0, len(g), ROWS)]
        embeddings = torch.cat([embed(clips, part) for part in parts])
        return embeddings[np.argsort(order)]

    def _padded(self, frames: np.ndarray) -> np.ndarray:
        """Return the frames that clips of so many frames are padded to."""
        if not self.options.trim:
            return np.full_like(frames, self.options.max_frames)
        return -(-np.maximum(frames, 1) // STRIDE) * STRIDE

    def _open(self, view: View) -> Sequences:
        return Sequences(view.sequences(), self.options.max_frames)


def image_encoder(
    options: SpeechImageOptions, mirrors: bool, stores_crops: bool = False
) -> ImageEncoder:
    """Make the encoder of image files, or of rows where no network is named; see `ImageFiles`."""
    if options.image_network:
        return ImageFiles(options.image_network, options.image_weights, mirrors, stores_crops)
    return ImageRows()


def shapes_taken(options: SpeechImageOptions, rows: tuple[Shape, ...]) -> Takes:
    """Return `Method.takes`: files of images for a network, otherwise `rows`; frames of speech."""
    return {"image": ("files",) if options.image_network else rows, "speech": ("sequence",)}


def frame_width(view: View) -> int:
    """Return the numbers of a frame of speech."""
    return view.sequences().values.shape[1]


def caption_owners(train: Split) -> np.ndarray:
    """Return the image of each clip, (n,).

    Raises:
        CrossmodalError: If images have several rows.
    """
    rows = len(train.views["image"].items)
    if rows != len(train.items):
        raise CrossmodalError(
            f"view 'image': {rows} rows for {len(train.items)} items; the method needs one row per "
            "image"
        )
    return train.views["speech"].items


def check_views(views: dict[str, View], network: str | None, further: Collection[str] = ()) -> None:
    """Check that a method can read its views.

    Args:
        views: The views; the first two are retrieved.
        network: The image network, None where images are features.
        further: Modalities that may follow the first two.

    Raises:
        CrossmodalError: If they are others, or not what the encoders read.
    """
    first, others = list(views)[:2], list(views)[2:]
    if set(first) != {"image", "speech"} or not set(others) <= set(further):
        also = f", then perhaps {' and '.join(further)}" if further else ""
        raise CrossmodalError(
            f"the method needs the views image and speech{also}, but has {', '.join(views)}; "
            "set `views` of the experiment"
        )
    _check_images(views["image"], network)
    speech = views["speech"].features
    values = speech.values if isinstance(speech, Ragged) else speech
    if values is speech or values.ndim != 2:
        raise CrossmodalError(
            f"view 'speech': rows of shape {values.shape[1:]}; the method needs sequences of "
            "frames, choose a log-mel feature or a network's frames"
        )


def _check_images(view: View, network: str | None) -> None:
    features = view.features
    files = isinstance(features, Ragged)
    if isinstance(features, Ragged) and features.values.dtype != np.uint8:
        raise CrossmodalError(
            "view 'image': its rows are sequences; the method needs one row each, or the "
            "files (plug-in `pictures`)"
        )
    if files != (network is not None):
        raise CrossmodalError(
            f"view 'image': it has {'image files' if files else 'features'}, but image_network "
            f"is {network}; name a network for files, null for features"
        )
