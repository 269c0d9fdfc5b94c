"""VASE with two streams: images and speech in one space, with cycle consistency.

    L = R(V, A) + lambda C(V, A)

R is the sum of ranking hinges over the batch (equations 7 to 10, see `crossmodal.losses`), C the
cycle loss (equations 11 to 30, see `crossmodal.cycle`). Images are vectors of a frozen network, so
this is the paper's first stage. Source: Cheng et al., IEEE TMM 2022, doi 10.1109/TMM.2022.3171090;
where it is silent, the settings of VSE++, whose defaults it shares.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize

from crossmodal.cycle import two_stream_cycle_loss
from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.encoders.davenet import BINS, STRIDE
from crossmodal.encoders.sequences import Sequences
from crossmodal.encoders.speech import SpeechEncoder
from crossmodal.errors import CrossmodalError
from crossmodal.losses import ranking_loss
from crossmodal.store import Ragged
from crossmodal.training import GradientMethod, shuffled_batches

DECAY = 0.1
IMAGES = 4096  # embedded at a time
CLIPS = 64

Batch = tuple[np.ndarray, np.ndarray]
Positive = Annotated[int, Field(gt=0)]


class VASE(GradientMethod):
    """A linear map of image features, and DAVEnet with a GRU for speech.

    Args:
        dims: d, size of the shared space.
        width: Multiplier of DAVEnet's channels, 1 in the paper.
        recurrent_layers: Layers of the GRU; 2 gives the paper's parameter counts, its text says 1.
        margin: alpha of the ranking loss.
        cycle_weight: lambda; 0 is the paper's base model.
        inverse_temperature: beta of the cycle loss.
        learning_rate: Of Adam.
        decay_every: Epochs after which the learning rate falls to a tenth.
        clip: Largest norm of all gradients together.
        batch: Pairs per step.
        epochs: Passes over the training split.
        captions_per_epoch: All captions of an image, or a random one.
        max_frames: Clips are cut here; 10 ms each.
        trim: Pad a batch to its longest clip, not to `max_frames`: faster, not bit-identical.
    """

    task = "instance"

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0, multiple_of=2)],
        width: Annotated[float, Field(gt=0)],
        recurrent_layers: Positive,
        margin: Annotated[float, Field(ge=0)],
        cycle_weight: Annotated[float, Field(ge=0)],
        inverse_temperature: Annotated[float, Field(ge=0)],
        learning_rate: Annotated[float, Field(gt=0)],
        decay_every: Positive,
        clip: Annotated[float, Field(gt=0)],
        batch: Annotated[int, Field(gt=1)],
        epochs: Positive,
        captions_per_epoch: Literal["all", "one"],
        max_frames: Annotated[int, Field(gt=0, multiple_of=STRIDE)],
        trim: bool,
    ) -> None:
        self.dims, self.width, self.recurrent_layers = dims, width, recurrent_layers
        self.margin, self.cycle_weight = margin, cycle_weight
        self.inverse_temperature = inverse_temperature
        self.rate, self.decay_every, self.clip_norm = learning_rate, decay_every, clip
        self.batch, self.epochs = batch, epochs
        self.captions_per_epoch = captions_per_epoch
        self.max_frames, self.trim = max_frames, trim

    def build(self, views: dict[str, View]) -> nn.Module:
        """Both encoders; linear maps Glorot-uniform with zero biases, as in VSE++."""
        _check(views)
        image = nn.Linear(views["image"].features.shape[1], self.dims)
        speech = SpeechEncoder(self.dims, self.width, self.recurrent_layers)
        for layer in (image, speech.project):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        return nn.ModuleDict({"image": image, "speech": speech})

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with its usual betas, no weight decay."""
        return torch.optim.Adam(self.network.parameters(), self.rate, fused=True)

    def learning_rate(self, epoch: int, step: int) -> float:
        """Steps down by epochs."""
        return self.rate * DECAY ** (epoch // self.decay_every)

    def clip(self) -> None:
        """Global norm of the gradients."""
        nn.utils.clip_grad_norm_(self.network.parameters(), self.clip_norm)

    def place(self, train: Split) -> None:
        """Unit image features and clips on the device; the captions of each item."""
        if len(train.views["image"].items) != len(train.items):
            raise CrossmodalError(
                f"view 'image': {len(train.views['image'].items)} rows for {len(train.items)} "
                "items; vase needs one feature per image"
            )
        self.images = self._images(train.views["image"].features)
        self.clips = self._place_clips(train.views["speech"].features)
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

    def loss(self, batch: Batch) -> torch.Tensor:
        """Ranking and cycle loss of a batch of pairs."""
        images, clips = batch
        image = self._embed_images(self.images[images])
        speech = self._embed_clips(self.clips, clips)
        ranking = ranking_loss(image @ speech.T, self.margin)
        cycle = two_stream_cycle_loss(image, speech, self.inverse_temperature)
        return ranking + self.cycle_weight * cycle

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Unit embeddings (rows, d)."""
        if modality == "speech":
            yield self._encode_clips(self._place_clips(view.features))
            return
        for start in range(0, len(view.items), IMAGES):
            yield self._embed_images(self._images(view.features[start : start + IMAGES]))

    def _encode_clips(self, clips: Sequences) -> torch.Tensor:
        """Clips padded to the same size go together, so that no clip depends on the others."""
        sizes = self._padded(clips.lengths.numpy())
        order = np.argsort(sizes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1)
        parts = [g[start : start + CLIPS] for g in groups for start in range(0, len(g), CLIPS)]
        embeddings = torch.cat([self._embed_clips(clips, part) for part in parts])
        return embeddings[np.argsort(order)]

    def _padded(self, frames: np.ndarray) -> np.ndarray:
        """Frames that clips of so many frames are padded to."""
        if not self.trim:
            return np.full_like(frames, self.max_frames)
        return -(-np.maximum(frames, 1) // STRIDE) * STRIDE

    def _images(self, features: np.ndarray) -> torch.Tensor:
        """Unit features on the device; zeros stay zeros."""
        return normalize(torch.from_numpy(np.asarray(features, np.float32)).to(device()))

    def _place_clips(self, features: Ragged) -> Sequences:
        return Sequences.place(features, self.max_frames, device())

    def _embed_images(self, features: torch.Tensor) -> torch.Tensor:
        return normalize(self.network["image"](features))

    def _embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        size = int(self._padded(clips.lengths[rows].numpy()).max())
        # zeros behind a clip, as in the released code, where 0 dB is the clip's maximum
        return normalize(self.network["speech"](*clips.pad(rows, size)))


def _check(views: dict[str, View]) -> None:
    """Whether these are views that the two encoders can read."""
    if set(views) != {"image", "speech"}:
        raise CrossmodalError(
            f"vase needs the views image and speech, but has {', '.join(views)}; set `views` of "
            "the experiment"
        )
    if isinstance(views["image"].features, Ragged):
        raise CrossmodalError("view 'image': its rows are sequences; vase needs one vector each")
    speech = views["speech"].features
    if not isinstance(speech, Ragged) or speech.values.shape[1:] != (BINS,):
        found = speech.values.shape if isinstance(speech, Ragged) else speech.shape
        raise CrossmodalError(
            f"view 'speech': rows of shape {found[1:]}; vase needs sequences of frames with "
            f"{BINS} bins, choose a log-mel feature"
        )
