"""DAN: dual attention networks for matching, m-DAN (Nam et al. 2017).

Regions v_n of an image and words u_t of a caption are attended to in K steps, each modality with a
memory of its own (see `crossmodal.nn.dual_attention`); u_t is the sum of both states of a
bidirectional LSTM. A caption and an image are as similar as their contexts of the same step:

    S(v, u) = sum_k <v^(k), u^(k)> = <z_v, z_u>        z = [c_0; c_1; ...; c_K]
    L = mean of [m - S(v, u) + S(v', u)]_+ + [m - S(v, u) + S(v, u')]_+

with one other image v' and one other caption u' of the batch for each pair, drawn at random.

Source: H. Nam, J.-W. Ha and J. Kim, Dual attention networks for multimodal reasoning and matching,
CVPR 2017.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import View
from crossmodal.device import to_device
from crossmodal.learning.method import Direction, Takes
from crossmodal.methods._regions import Kind, PairOptions, RegionMethod, RegionNetwork, Regions
from crossmodal.nn.captions import pack, vocabulary_size
from crossmodal.nn.dual_attention import AttentionSteps
from crossmodal.nn.losses import draw_impostors, impostor_loss, ranking_loss
from crossmodal.nn.word_states import WordStates
from crossmodal.plugin import Count, NotNegative, Positive
from crossmodal.training.image_encoder import ImageRows
from crossmodal.training.pairs import Batch
from crossmodal.training.schedule import Phase, Schedule

ROWS = 512
TAKES: Takes = {"image": ("maps",), "text": ("sequence",)}


class DAN(RegionMethod):
    """Attention to regions of maps and to words, in steps."""

    class Options(PairOptions):
        """Options of the attention, the loss and its training; by default as published."""

        dims: Count = Field(
            512, description="Units of each direction of the LSTM and of the attention."
        )
        word_dims: Count = Field(512, description="Dimensions of the word vectors.")
        steps: Count = Field(2, description="Steps K of attention after the means.")
        dropout: float = Field(
            0.5,
            ge=0,
            lt=1,
            description="Dropout rate of word vectors and of the attention's hidden units.",
        )
        scaling: Kind = Field(
            "raw",
            description="Scaling of regions: 'raw' none, or 'zscore' of each channel over all "
            "positions of the training split.",
        )
        margin: NotNegative = Field(100.0, description="Margin m, in units of inner products.")
        negatives: Literal["sampled", "all"] = Field(
            "sampled",
            description="Of a pair: one image and one caption of the batch, as published, or all.",
        )
        optimizer: Literal["sgd", "adam"] = Field(
            "sgd", description="'sgd' with momentum 0.9, as published, or 'adam'."
        )
        learning_rate: Positive = Field(0.1, description="Learning rate of the first epoch.")
        decay: float = Field(
            0.1, gt=0, le=1, description="Factor of the learning rate when it falls."
        )
        decay_every: Count = Field(30, description="Epochs after which it falls, each time.")
        weight_decay: NotNegative = Field(0.0005, description="Weight decay.")
        clip: Positive = Field(0.1, description="Largest L2 norm of all gradients together.")
        captions_per_epoch: Literal["one", "all"] = Field(
            "all", description="A random caption of each image, or all of them."
        )
        batch: int = Field(128, gt=1, description="Pairs per step.")
        epochs: Count = Field(60, description="Passes over the captions.")

    options: Options

    task = "instance"
    takes = TAKES
    network: "DualAttention"

    @property
    def schedule(self) -> Schedule:
        """One phase, whose rate steps down by epochs."""
        o = self.options
        return Schedule((Phase(o.epochs, o.learning_rate),), o.decay, o.decay_every, o.clip)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build both branches."""
        o, words = self.options, vocabulary_size(views)
        channels = views["image"].vectors().shape[1]
        return DualAttention(
            WordStates(words, o.word_dims, o.dims, o.dropout),
            Regions(channels, o.scaling),
            AttentionSteps(channels, o.dims, o.steps, o.dropout, projects=True),
            AttentionSteps(o.dims, o.dims, o.steps, o.dropout, projects=False),
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """Return the optimiser of all parameters."""
        parameters, decay = self.trainable(), self.options.weight_decay
        if self.options.optimizer == "adam":
            return torch.optim.Adam(parameters, weight_decay=decay, fused=True)
        return torch.optim.SGD(parameters, momentum=0.9, weight_decay=decay)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return L of a batch; captions of one image are no negatives of it."""
        images = self.network.embed_images(self.images.features(batch))
        captions = self.network.embed_captions(self.captions, batch.captions)
        scores, margin = images @ captions.T, self.options.margin
        negatives = to_device(batch.images[:, None] != batch.images)
        if self.options.negatives == "all":
            return ranking_loss(scores, margin, negatives) / len(scores)
        i, j = (draw_impostors(negatives) for _ in range(2))
        own = torch.arange(len(scores), device=scores.device)
        return impostor_loss(scores.diagonal(), scores[i, own], scores[own, j], margin)

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return contexts of all steps z (rows, (K + 1) dims)."""
        if modality == "image":
            yield from map(self.network.embed_images, ImageRows().read(view))
            return
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            yield self.network.embed_captions(view.sequences(), rows)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return similarities S (q, g)."""
        return queries @ gallery.T


class DualAttention(RegionNetwork):
    """Both branches.

    Args:
        words: States of the words of a caption.
        regions: Regions of maps.
        image: Steps of attention to regions.
        text: Steps of attention to words.
    """

    def __init__(
        self, words: WordStates, regions: Regions, image: AttentionSteps, text: AttentionSteps
    ) -> None:
        super().__init__()
        self.words, self.regions, self.image, self.text = words, regions, image, text

    def embed_images(self, maps: torch.Tensor) -> torch.Tensor:
        """Return z_v (b, (K + 1) dims) of maps (b, channels, h, w)."""
        regions = self.regions(maps)
        return self.image(regions, regions.new_ones(regions.shape[:2], dtype=torch.bool))

    def embed_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        """Return z_u (b, (K + 1) dims) of some captions."""
        states, inside = self.words(pack(captions, rows))
        return self.text(states.sum(2), inside)
