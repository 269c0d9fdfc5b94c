"""The two-branch embedding network (Wang et al. 2018).

A branch is x -> linear, batch norm, ReLU, dropout -> linear -> unit length. With d the Euclidean
distance, each anchor a and each of its positives p give the mean of the k largest hinges

    h(a, p) = mean_k [m + d(a, p) - d(a, n)]_+        over the negatives n of the batch,
    L = w_i h(image, sentence) + w_s h(sentence, image) + w_n h(sentence, sentence of its image)

each h averaged over its pairs: the last keeps sentences of one image together.

Source: L. Wang, Y. Li, J. Huang and S. Lazebnik, Learning two-branch neural networks for image-text
matching tasks, IEEE TPAMI 41(2), 2018. Sentences are vectors here, such as of a bag of words,
instead of Fisher vectors of word2vec.
"""

from collections.abc import Iterable

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.errors import CrossmodalError
from crossmodal.nn.mlp import linear
from crossmodal.nn.precision import Precision, compute_in
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches, vectors_in_parts

SENTENCES = 2  # of each image in a batch

Batch = tuple[np.ndarray, np.ndarray]


class EmbeddingNetwork(GradientMethod[Batch]):
    """Two branches and a ranking loss with neighbours.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import EmbeddingNetwork
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> network = EmbeddingNetwork(dims=4, hidden=8, epochs=2).fit(sepals, petals, species)
        >>> network.similarity(sepals, petals).shape
        (150, 150)
    """

    class Options(Strict):
        """Options of the branches, the loss and its training."""

        dims: Count = Field(description="Dimensions of the shared space.")
        hidden: Count = Field(description="Units of each branch's hidden layer.")
        dropout: float = Field(ge=0, lt=1, description="Dropout rate of the hidden layers.")
        margin: NotNegative = Field(description="Margin m, in units of the distance.")
        image_weight: NotNegative = Field(
            1.0, description="Weight w_i, where images are the anchors."
        )
        sentence_weight: NotNegative = Field(description="Weight w_s, where sentences are.")
        neighbour_weight: NotNegative = Field(
            description="Weight w_n, of sentences among each other."
        )
        hardest: Count = Field(description="Number k of the largest hinges of a pair that count.")
        learning_rate: Positive = Field(description="Learning rate of Adam in the first epoch.")
        decay: Positive = Field(description="Factor of the learning rate after each epoch.")
        batch: int = Field(gt=1, description="Images per step, with two sentences each.")
        epochs: Count = Field(description="Passes over the images.")
        precision: Precision = "float32"

    options: Options

    task = "instance"
    network: nn.ModuleDict

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build a branch for each of two views."""
        if len(views) != 2:
            raise CrossmodalError(f"the method needs two views, but has {', '.join(views)}")
        branches = {m: self._branch(v.vectors().shape[1]) for m, v in views.items()}
        compute_in(self.options.precision, *branches.values())
        return nn.ModuleDict(branches)

    def _branch(self, width: int) -> nn.Module:
        o = self.options
        hidden = [linear(width, o.hidden), nn.BatchNorm1d(o.hidden), nn.ReLU()]
        return nn.Sequential(*hidden, nn.Dropout(o.dropout), linear(o.hidden, o.dims))

    def optimizer(self) -> torch.optim.Optimizer:
        """Return Adam."""
        return torch.optim.Adam(self.network.parameters(), fused=True)

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate, which falls from epoch to epoch."""
        return self.options.learning_rate * self.options.decay**epoch

    def place(self, train: Split) -> None:
        """Place rows of both views on the device; sentences of an image are a range of rows."""
        (self.image, first), (self.sentence, second) = train.views.items()
        self.rows = {m: torch.from_numpy(v.vectors()).to(device()) for m, v in train.views.items()}
        _, self.image_rows = np.unique(first.items, return_index=True)
        edges = np.searchsorted(second.items, np.arange(len(train.items) + 1))
        self.first_sentence, self.sentences = edges[:-1], np.diff(edges)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Draw rows of images, and of two sentences of each, which differ where there are two."""
        first = rng.integers(self.sentences)
        second = (first + 1 + rng.integers(np.maximum(self.sentences - 1, 1))) % self.sentences
        count = len(self.image_rows)
        size = min(self.options.batch, count)
        for items in shuffled_batches(count, size, rng, drop_last=True):
            drawn = self.first_sentence[items] + np.stack([first[items], second[items]])
            yield self.image_rows[items], drawn.T.ravel()  # the two of an image side by side

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return L of a batch."""
        images, sentences = (
            self._embed(m, self.rows[m][to_device(rows)])
            for m, rows in zip((self.image, self.sentence), batch, strict=True)
        )
        o = self.options
        owners = torch.arange(len(images), device=images.device).repeat_interleave(SENTENCES)
        own = owners[:, None] == torch.arange(len(images), device=images.device)  # (2 b, b)
        siblings = owners[:, None] == owners
        between, among = torch.cdist(sentences, images), torch.cdist(sentences, sentences)
        pairs = siblings & ~torch.eye(len(owners), dtype=torch.bool, device=images.device)
        return (
            o.image_weight * hinges(between.T, own.T, own.T, o.margin, o.hardest)
            + o.sentence_weight * hinges(between, own, own, o.margin, o.hardest)
            + o.neighbour_weight * hinges(among, pairs, siblings, o.margin, o.hardest)
        )

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return unit embeddings (rows, dims)."""
        return (self._embed(modality, rows) for rows in vectors_in_parts(view))

    def _embed(self, modality: str, rows: torch.Tensor) -> torch.Tensor:
        return normalize(self.network[modality](rows.float()))


def hinges(
    distances: torch.Tensor,
    positives: torch.Tensor,
    excluded: torch.Tensor,
    margin: float,
    hardest: int,
) -> torch.Tensor:
    """Average, over all pairs of an anchor and a positive, the mean of its largest hinges.

    Args:
        distances: d (a, n) of anchors and candidates.
        positives: (a, n) bool, pairs; each anchor has one or more.
        excluded: (a, n) bool, candidates that are no negatives.
        margin: m.
        hardest: k; fewer where an anchor has fewer negatives.

    Returns:
        The mean, a scalar.
    """
    anchors, partners = positives.nonzero(as_tuple=True)
    near = distances[anchors, partners, None] - distances[anchors]  # (pairs, n)
    losses = (margin + near).clamp(min=0).masked_fill(excluded[anchors], 0)
    count = min(hardest, int((~excluded).sum(1).min()))
    return losses.topk(count, dim=1).values.mean()
