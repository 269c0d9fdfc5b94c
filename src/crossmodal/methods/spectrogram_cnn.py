"""Spectrogram CNN: words of a spoken caption aligned with regions of an image (2015).

First a CNN learns to classify the single words of the training captions, by cross-entropy. Then it
is frozen; with v_i a linear map of region i of an image k, and s_t the positive part of a linear
map of the CNN's vector of word t of a caption l,

    S_kl = sum_t max_i <v_i, s_t>
    L = sum over the hinges [m - S_kk + S_kl]_+ and [m - S_kk + S_lk]_+, l of another image

Regions are the positions of maps and their mean, in place of a detector's boxes and the whole
image. Source: D. Harwath and J. Glass, Deep multimodal semantic embeddings for speech and images,
ASRU 2015, whose alignment is that of Karpathy, Joulin and Fei-Fei, NIPS 2014; see
docs/deviations.md for what is not known of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.data.split import Split, View
from crossmodal.device import to_device
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Direction, Takes
from crossmodal.methods._regions import Kind, RegionNetwork, Regions
from crossmodal.methods._speech_image import caption_owners
from crossmodal.nn.losses import ranking_loss
from crossmodal.nn.matchmap_similarity import all_scores
from crossmodal.nn.word_cnn import COLUMNS, WordCNN, Words
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches
from crossmodal.training.image_encoder import ImageRows
from crossmodal.training.pairs import Batch, draw_pairs
from crossmodal.training.schedule import Phase, Schedule

ROWS = 1024  # words embedded at a time
TAKES: Takes = {"image": ("maps",), "speech": ("sequence",)}
Learns = np.ndarray | Batch  # words in the first phase, pairs in the second


class SpectrogramCNN(GradientMethod[Learns]):
    """A CNN of single words, and linear maps of words and regions."""

    class Options(Strict):
        """Options of the networks and of both phases."""

        dims: Count = Field(1024, description="Dimensions of the space of regions and words.")
        filters: Count = Field(64, description="Filters of the CNN's convolution.")
        units: Count = Field(1024, description="Width of the CNN's hidden layers.")
        word_frames: Count = Field(100, description="Frames that each word is padded or cut to.")
        dropout: float = Field(0.5, ge=0, lt=1, description="Dropout rate of the hidden layers.")
        scaling: Kind = Field(
            "zscore",
            description="Scaling of regions: 'raw' none, or 'zscore' of each channel over all "
            "positions of the training split.",
        )
        word_epochs: Count = Field(20, description="Passes over the training words.")
        word_rate: Positive = Field(0.001, description="Learning rate of Adam on words.")
        word_batch: Count = Field(256, description="Words of a step.")
        margin: NotNegative = Field(1.0, description="Margin m, in units of the score.")
        learning_rate: Positive = Field(0.0002, description="Learning rate of Adam on pairs.")
        decay_every: Count = Field(15, description="Epochs after which a rate falls to a tenth.")
        captions_per_epoch: Literal["one", "all"] = Field(
            "all", description="A random caption of each image, or all of them."
        )
        batch: int = Field(128, gt=1, description="Pairs per step, negatives of each other.")
        epochs: Count = Field(30, description="Passes over the captions.")

    options: Options
    task = "instance"
    takes = TAKES
    network: "AlignmentNetwork"

    @property
    def schedule(self) -> Schedule:
        """First words, then pairs."""
        o = self.options
        phases = Phase(o.word_epochs, o.word_rate), Phase(o.epochs, o.learning_rate)
        return Schedule(phases, 0.1, o.decay_every)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build the CNN of words, and the maps.

        Raises:
            CrossmodalError: If clips are not cut into words.
        """
        o, speech = self.options, views["speech"]
        width = speech.sequences().values.shape[1]
        if "vocabulary" not in speech.meta or width <= COLUMNS:
            raise CrossmodalError(
                "view 'speech': its frames are not of single words; choose the feature "
                "`spoken_words`"
            )
        channels = views["image"].vectors().shape[1]
        words = 1 + len(speech.meta["vocabulary"])
        cnn = WordCNN(o.word_frames, width - COLUMNS, o.filters, o.units, words, o.dropout)
        return AlignmentNetwork(
            cnn,
            Regions(channels, o.scaling),
            nn.Linear(channels, o.dims),
            nn.Linear(o.units, o.dims),
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """Return Adam; in the second phase of the maps alone."""
        aligning = self.phase == 1
        for name, parameter in self.network.named_parameters():
            parameter.requires_grad_(name.startswith("cnn.") != aligning)
        self.vectors: torch.Tensor | None = None  # of all words; a snapshot's network comes later
        return torch.optim.Adam(self.trainable(), fused=True)

    def place(self, train: Split) -> None:
        """Keep the training images on the device, and the words of the captions."""
        self.images, self.owners = ImageRows(), caption_owners(train)
        self.images.place(train.views["image"])
        self.network.regions.fit(self.images.read(train.views["image"]))
        self.words = Words(train.views["speech"].sequences())

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Learns]:
        """Return words that have a number, or pairs, shuffled."""
        o = self.options
        if self.phase == 1:
            if self.vectors is None:
                self.vectors = self._all_vectors(self.words)
            return draw_pairs(self.owners, o.captions_per_epoch, o.batch, rng)
        numbered = np.flatnonzero(self.words.numbers)
        rows = shuffled_batches(len(numbered), o.word_batch, rng, drop_last=False)
        return (numbered[batch] for batch in rows)

    def loss(self, batch: Learns) -> torch.Tensor:
        """Return the cross-entropy of words, or the hinges of pairs."""
        if isinstance(batch, Batch):
            assert self.vectors is not None
            regions = self.network.embed_images(self.images.features(batch))
            words, counts = self._padded(self.words, self.vectors, batch.captions)
            negatives = to_device(batch.images[:, None] != batch.images)
            return ranking_loss(_scores(regions, words, counts), self.options.margin, negatives)
        logits = self.network.cnn.classify(self.network.cnn(self._frames(self.words, batch)))
        return cross_entropy(logits, to_device(self.words.numbers[batch]))

    def validate(self, validation: Split) -> dict[str, float]:
        """Return rsum; in the first phase minus the share of words that are taken for others."""
        if self.phase == 1:
            return super().validate(replace(validation, labels=validation.labels[:, :0]))
        words = Words(validation.views["speech"].sequences())
        numbered = np.flatnonzero(words.numbers)
        self.network.eval()
        with torch.inference_mode():
            pieces = self._vectors(words, numbered)
            guesses = torch.cat([self.network.cnn.classify(x).argmax(1) for x in pieces]).cpu()
        return {"validation": -float(np.mean(guesses.numpy() != words.numbers[numbered]))}

    def log(self) -> dict[str, float]:
        """Return the phase."""
        return {"phase": self.phase}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return regions (b, l, dims) of images, words (b, t, dims) of clips, NaN behind them."""
        if modality == "image":
            yield from map(self.network.embed_images, ImageRows().read(view))
            return
        words = Words(view.sequences())
        vectors = self._all_vectors(words)
        clips = np.arange(len(view.items))
        longest = int(np.diff(words.clips).max())
        for start in range(0, len(clips), ROWS):
            embedded, counts = self._padded(words, vectors, clips[start : start + ROWS], longest)
            inside = torch.arange(longest) < counts[:, None]
            yield embedded.cpu().masked_fill(~inside[:, :, None], torch.nan)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return S, (q, g)."""
        swapped = direction[0] == "speech"
        images, clips = (gallery, queries) if swapped else (queries, gallery)
        words = torch.from_numpy(clips)
        scores = _scores(torch.from_numpy(images), words, (~words[:, :, 0].isnan()).sum(1))
        return (scores.T if swapped else scores).cpu().numpy()

    def _all_vectors(self, words: Words) -> torch.Tensor:
        return torch.cat([*self._vectors(words, np.arange(len(words.starts)))])

    @torch.no_grad()
    def _vectors(self, words: Words, rows: np.ndarray) -> Iterator[torch.Tensor]:
        """Yield the frozen vectors (b, units) of some words."""
        self.network.cnn.eval()
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            yield self.network.cnn(self._frames(words, part))

    def _frames(self, words: Words, rows: np.ndarray) -> torch.Tensor:
        return words.pad(rows, self.options.word_frames)

    def _padded(
        self, words: Words, vectors: torch.Tensor, clips: np.ndarray, longest: int = 0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return embedded words (b, t, dims) of some clips, padded with zeros, and counts (b,)."""
        starts, stops = words.clips[clips], words.clips[clips + 1]
        counts = torch.from_numpy(stops - starts)
        own = [vectors[start:stop] for start, stop in zip(starts, stops, strict=True)]
        padded = nn.utils.rnn.pad_sequence(own, batch_first=True)
        if longest:
            padded = nn.functional.pad(padded, (0, 0, 0, longest - padded.shape[1]))
        return self.network.embed_words(padded), counts


class AlignmentNetwork(RegionNetwork):
    """The CNN of words, and linear maps of regions and of words.

    Args:
        cnn: Reads single words.
        regions: Regions of maps.
        image: Linear map of a region.
        speech: Linear map of a word's vector.
    """

    def __init__(self, cnn: WordCNN, regions: Regions, image: nn.Linear, speech: nn.Linear) -> None:
        super().__init__()
        self.cnn, self.regions, self.image, self.speech = cnn, regions, image, speech

    def embed_images(self, maps: torch.Tensor) -> torch.Tensor:
        """Return v (b, h w + 1, dims) of maps (b, channels, h, w), the whole image last."""
        regions = self.regions(maps)
        return self.image(torch.cat([regions, regions.mean(1, keepdim=True)], 1))

    def embed_words(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return s (..., dims) of vectors (..., units)."""
        return self.speech(vectors).relu()


def _scores(regions: torch.Tensor, words: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Return S (n, m); MISA is its mean over words."""
    means = all_scores(regions, words, counts, "misa")
    return means * counts.to(means.device)
