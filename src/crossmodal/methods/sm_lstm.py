"""sm-LSTM: a selective multimodal LSTM scores each pair (Huang et al. 2017).

An image is the regions a_i of its maps and their mean m; a caption is the states w_j of a
bidirectional LSTM and the last of each direction, n. A network scores each pair by what it selects
of both in T steps (see `crossmodal.nn.selective_lstm`). With b pairs in a batch,

    L = 1/b (sum of all hinges [m - s_ii + s_ij]_+ and [m - s_ii + s_ji]_+, j of another image)
        + c/b sum_i (sum_regions (1 - sum_t p_t)^2 + sum_words (1 - sum_t q_t)^2)

where p_t and q_t are the weights of the pair (i, i): each part is to be selected once.

Source: Y. Huang, W. Wang and L. Wang, Instance-aware image and sentence matching with selective
multimodal LSTM, CVPR 2017.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import pad

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.method import Takes
from crossmodal.learning.pair_scorer import PairScorer
from crossmodal.learning.pair_selection import ValidationItems, pair_rsum
from crossmodal.methods._regions import Kind, PairOptions, RegionMethod, RegionNetwork, Regions
from crossmodal.nn.captions import pack, vocabulary_size
from crossmodal.nn.losses import ranking_loss
from crossmodal.nn.selective_lstm import (
    Candidates,
    Parts,
    SelectiveLSTM,
    all_scores,
    scores_to_learn,
)
from crossmodal.nn.word_states import WordStates
from crossmodal.plugin import Count, NotNegative, Positive
from crossmodal.training.image_encoder import ImageRows
from crossmodal.training.pairs import Batch
from crossmodal.training.schedule import Phase, Schedule

ROWS = 512
TAKES: Takes = {"image": ("maps",), "text": ("sequence",)}


class SMLSTM(PairScorer, RegionMethod):
    """A network that scores each pair by regions and words."""

    class Options(PairOptions):
        """Options of the network, the loss and its training."""

        dims: Count = Field(
            1024, description="Units of all hidden layers, and of each direction over the words."
        )
        word_dims: Count = Field(300, description="Dimensions of the word vectors.")
        steps: Count = Field(3, description="Steps T.")
        dropout: float = Field(0.0, ge=0, lt=1, description="Dropout rate of the word vectors.")
        scaling: Kind = Field(
            "zscore",
            description="Scaling of regions: 'raw' none, or 'zscore' of each channel over all "
            "positions of the training split.",
        )
        margin: NotNegative = Field(1.0, description="Margin m, in units of the score.")
        coverage_weight: NotNegative = Field(
            100.0, description="Weight c of each part being selected once."
        )
        learning_rate: Positive = Field(0.0002, description="Learning rate of Adam.")
        decay_every: Count = Field(15, description="Epochs after which it falls to a tenth.")
        clip: Positive = Field(2.0, description="Largest L2 norm of all gradients together.")
        captions_per_epoch: Literal["one", "all"] = Field(
            "all", description="A random caption of each image, or all of them."
        )
        batch: int = Field(128, gt=1, description="Pairs per step, of which all are scored.")
        epochs: Count = Field(30, description="Passes over the captions.")
        validation_items: ValidationItems = None

    options: Options

    task = "instance"
    takes = TAKES
    network: "PairNetwork"
    scorer: SelectiveLSTM

    @property
    def schedule(self) -> Schedule:
        """One phase, whose rate steps down by epochs."""
        o = self.options
        return Schedule((Phase(o.epochs, o.learning_rate),), 0.1, o.decay_every, o.clip)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build the encoders of both sides, and the network that scores."""
        o, words = self.options, vocabulary_size(views)
        channels = views["image"].vectors().shape[1]
        self.scorer = SelectiveLSTM(o.dims, o.steps)
        return PairNetwork(
            WordStates(words, o.word_dims, o.dims, o.dropout),
            Regions(channels, o.scaling),
            Candidates(channels, o.dims),
            Candidates(2 * o.dims, o.dims),
            self.scorer,
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """Return Adam."""
        return torch.optim.Adam(self.trainable(), fused=True)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return L of a batch; captions of one image are no negatives of it."""
        regions = Parts.of(self.network.embed_images(self.images.features(batch)))
        words = Parts.of(self.network.embed_captions(self.captions, batch.captions))
        scores, *covered = scores_to_learn(self.scorer, regions, words)
        negatives = to_device(batch.images[:, None] != batch.images)
        loss = ranking_loss(scores, self.options.margin, negatives)
        own = torch.arange(len(scores), device=scores.device)
        for sums, parts in zip(covered, (regions, words), strict=True):
            missing = ((1 - sums[own, own]) * parts.inside).square().sum()
            loss = loss + self.options.coverage_weight * missing
        return loss / len(scores)

    def validate(self, validation: Split) -> dict[str, float]:
        """Return rsum, both directions by the same scores."""
        return {"validation": pair_rsum(self, validation, self.options.validation_items)}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return keys and values (rows, parts, 2 dims), NaN behind the last word."""
        if modality == "image":
            yield from map(self.network.embed_images, ImageRows().read(view))
            return
        captions = view.sequences()
        longest = int(captions.lengths.max())
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            words = self.network.embed_captions(captions, rows)
            yield pad(words, (0, 0, 0, longest - words.shape[1]), value=torch.nan)

    def score_pairs(self, images: np.ndarray, captions: np.ndarray) -> np.ndarray:
        """Return the network's scores (n, m)."""
        regions, words = (Parts.of(torch.from_numpy(x)) for x in (images, captions))
        return all_scores(self.scorer, regions, words).cpu().numpy()

    def scoring_state(self) -> dict[str, np.ndarray]:
        """Return the weights of the network that scores."""
        return {name: value.cpu().numpy() for name, value in self.scorer.state_dict().items()}

    def restore_scoring(self, state: dict[str, np.ndarray]) -> None:
        """Make the network that scores, with these weights."""
        o = self.options
        self.scorer = SelectiveLSTM(o.dims, o.steps).to(device())
        self.scorer.load_state_dict({name: torch.from_numpy(v) for name, v in state.items()})


class PairNetwork(RegionNetwork):
    """Encoders of both sides, and the network that scores.

    Args:
        words: States of the words of a caption.
        regions: Regions of maps.
        image: Keys and values of regions.
        text: Those of words.
        scorer: The network that scores pairs.
    """

    def __init__(
        self,
        words: WordStates,
        regions: Regions,
        image: Candidates,
        text: Candidates,
        scorer: SelectiveLSTM,
    ) -> None:
        super().__init__()
        self.words, self.regions = words, regions
        self.image, self.text, self.scorer = image, text, scorer

    def embed_images(self, maps: torch.Tensor) -> torch.Tensor:
        """Return keys and values (b, h w, 2 dims) of maps (b, channels, h, w)."""
        regions = self.regions(maps)
        return self.image(regions, regions.mean(1))

    def embed_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        """Return keys and values (b, t, 2 dims) of some captions, NaN behind the last word."""
        states, inside = self.words(pack(captions, rows))
        own = torch.arange(len(states), device=states.device)
        last = states[own, inside.sum(1) - 1, 0], states[:, 0, 1]
        words = self.text(states.flatten(2), torch.cat(last, 1))
        return words.masked_fill(~inside[:, :, None], torch.nan)
