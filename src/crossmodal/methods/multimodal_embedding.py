"""Images and captions in one space: the pipelines of Vilalta et al. 2019.

    i = n(W x)        c = n(GRU(E t))        n(u) = u / |u|, in order embeddings |n(u)|

    sum:   L = sum_ij A_ij + sum_ij B_ij                     (equation 1: SH, SOE)
    max:   L = sum_i max_j A_ij + sum_j max_i B_ij           (equation 4: MH, MOE)

A_ij = [a + S_ij - S_ii]_+ and B_ij = [a + S_ij - S_jj]_+ with i != j; S is the cosine or the order
similarity. PH and POE train with the sum first, then with the maximum from the best epoch on.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.method import CAPTIONED, Direction
from crossmodal.learning.selection import pools
from crossmodal.metrics.mean_scores import mean_scores
from crossmodal.metrics.retrieval import per_query, rsum, summary
from crossmodal.nn.captions import CaptionEncoder, Initialisation, pack, vocabulary_size
from crossmodal.nn.losses import Hardest, hardest_ranking_loss, ranking_loss
from crossmodal.nn.mlp import linear
from crossmodal.nn.order_similarity import order_similarity
from crossmodal.nn.precision import Precision, compute_in
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.training.distributed import in_shares
from crossmodal.training.gradient import GradientMethod, shuffled_batches
from crossmodal.training.schedule import Phase, Schedule

ROWS = 512
BETAS = (0.9, 0.999)
DROP = 0.1  # of the learning rate, as in the released launcher of FNE-MH

Batch = tuple[np.ndarray, np.ndarray]


class MultimodalEmbedding(GradientMethod[Batch]):
    """A linear map of fixed image features and a GRU over words."""

    class Options(Strict):
        dims: Count = Field(description="Dimensions D of the shared space, and units of the GRU.")
        word_dims: Count = Field(description="Dimensions of the word embedding.")
        image_bias: bool = Field(
            False,
            description="Whether the map of images has a bias: as released, not as published.",
        )
        initialisation: Initialisation = Field(
            description="Of the GRU: 'orthogonal', as published, or 'uniform', as in VSE++."
        )
        similarity: Literal["cosine", "order", "order-norm"] = Field(
            description="Similarity S; 'order' is squared, as published, 'order-norm' is not, as "
            "in VSE++'s code."
        )
        absolute: bool = Field(
            False, description="Take absolute values of the normalised embeddings."
        )
        loss: Literal["sum", "max", "sum-max"] = Field(
            description="Over all negatives, over the hardest, or first one and then the other."
        )
        hardest: Hardest = Field(
            "negative",
            description="Index of each maximum: the 'negative', as published, or the 'anchor', as "
            "released.",
        )
        margin: NotNegative = Field(description="Margin a, in units of S.")
        learning_rate: Positive = Field(description="Learning rate of Adam.")
        finetuning_rate: Positive | None = Field(
            None, description="Learning rate of the second loss of 'sum-max', otherwise null."
        )
        drop_epoch: Count | None = Field(
            None,
            description="Epoch from which the learning rate is a tenth, as in a released launcher; "
            "null: never, as published.",
        )
        bias_correction: Literal["published", "released"] = Field(
            "published",
            description="Of Adam's moments: 'published', or 'released', with 1 - beta for beta.",
        )
        clip: Positive = Field(
            2.0,
            description="Largest L2 norm of the gradient of each parameter tensor; a GRU's gates "
            "share one.",
        )
        captions_per_epoch: Literal["one", "all"] = Field(
            description="A random caption of each image, or all of them."
        )
        batch: int = Field(
            gt=1, description="Pairs per step; the last, incomplete batch of an epoch is dropped."
        )
        epochs: Count = Field(description="Passes over the captions.")
        finetuning_epochs: Count | None = Field(
            None,
            description="Passes with the second loss of 'sum-max'; null: from the best epoch of "
            "the first to `epochs`, as released, or no second loss.",
        )
        precision: Precision = "float32"

        @model_validator(mode="after")
        def _check(self) -> Self:
            if (self.finetuning_rate is None) == (self.loss == "sum-max"):
                raise ValueError(
                    f"finetuning_rate: is {self.finetuning_rate} with loss {self.loss!r}; the rate "
                    "of the second loss of 'sum-max', null otherwise"
                )
            if self.finetuning_epochs and self.loss != "sum-max":
                raise ValueError(
                    f"finetuning_epochs: is {self.finetuning_epochs} with loss {self.loss!r}; only "
                    "'sum-max' has a second loss, set it to null"
                )
            if self.drop_epoch is not None and self.drop_epoch >= self.epochs:
                raise ValueError(
                    f"drop_epoch: is {self.drop_epoch}, but the last epoch is {self.epochs - 1}"
                )
            return self

    options: Options

    task = "instance"
    network: nn.ModuleDict
    distributed = True
    takes = CAPTIONED

    @property
    def losses(self) -> list[str]:
        """Return the loss of each phase, 'sum' or 'max'."""
        return self.options.loss.split("-")

    @property
    def schedule(self) -> Schedule:
        """Return a phase per loss; the second continues from the best epoch, or begins anew."""
        o = self.options
        phases = [Phase(o.epochs, o.learning_rate)]
        if o.finetuning_rate:
            phases.append(Phase(o.finetuning_epochs or o.epochs, o.finetuning_rate))
        return Schedule(tuple(phases), continues=o.finetuning_epochs is None)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build image map and caption encoder."""
        options, words = self.options, vocabulary_size(views)
        image = linear(views["image"].vectors().shape[1], options.dims, options.image_bias)
        text = CaptionEncoder(words, options.word_dims, options.dims, options.initialisation)
        compute_in(options.precision, image, text)
        return nn.ModuleDict({"image": image, "text": text})

    def optimizer(self) -> torch.optim.Optimizer:
        """Return Adam with its usual moments."""
        return torch.optim.Adam(self.trainable(), betas=BETAS, fused=True)

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate, constant but for the drop.

        The released bias correction is the published Adam at another rate per step.
        """
        options = self.options
        rate = super().learning_rate_at(epoch, step)
        if options.drop_epoch is not None and epoch >= options.drop_epoch:
            rate *= DROP
        if options.bias_correction == "published":
            return rate
        published, released = (
            (1 - b2 ** (step + 1)) ** 0.5 / (1 - b1 ** (step + 1))
            for b1, b2 in (BETAS, (1 - b for b in BETAS))
        )
        return rate * released / published

    def clip(self) -> None:
        """Clip each parameter tensor by itself."""
        for parameter in self.network.parameters():
            if parameter.grad is not None:
                nn.utils.clip_grad_norm_(parameter, self.options.clip)

    def place(self, train: Split) -> None:
        """Place images on the device; captions of an image are a range of rows."""
        text = train.views["text"]
        self.images = torch.from_numpy(train.views["image"].vectors()).to(device())  # (n, F)
        self.captions, self.owners = text.sequences(), text.items
        edges = np.searchsorted(text.items, np.arange(len(train.items) + 1))
        self.first_caption, self.caption_counts = edges[:-1], np.diff(edges)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Draw rows of images and of one caption of each."""
        chosen = np.arange(len(self.owners))
        if self.options.captions_per_epoch == "one":
            chosen = self.first_caption + rng.integers(self.caption_counts)
        size = min(self.options.batch, len(chosen))
        for rows in shuffled_batches(len(chosen), size, rng, drop_last=True):
            yield self.owners[chosen[rows]], chosen[rows]

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return equation 1 or 4 of a batch; captions of one image are no negatives."""
        images, captions = (torch.from_numpy(rows) for rows in batch)
        negatives = to_device(images[:, None] != images)
        i = in_shares(lambda part: self._train_images(images[part]), len(images))
        c = in_shares(lambda part: self._train_captions(captions[part]), len(captions))
        scores = i @ c.T if self.cosine else self._order(i, c)
        if self.losses[self.phase] == "sum":
            return ranking_loss(scores, self.options.margin, negatives)
        return hardest_ranking_loss(scores, self.options.margin, negatives, self.options.hardest)

    def validate(self, validation: Split) -> dict[str, float]:
        """Return rsum, and the mean similarity of pairs and negatives, equal on the plateau."""
        # without labels: mAP would take longer than all the rest
        sides = pools(self, replace(validation, labels=validation.labels[:, :0]))
        images, texts = sides["image"], sides["text"]
        # once for all that is measured: order similarities are what takes longest here
        scores = self.score(images.embeddings, texts.embeddings, ("image", "text"))
        positives, negatives = mean_scores(images, texts, scores)
        metrics = (
            summary(per_query(images, texts, scores.__getitem__), len(texts)),
            summary(per_query(texts, images, scores.T.__getitem__), len(images)),
        )
        return {"validation": rsum(*metrics), "positives": positives, "negatives": negatives}

    def log(self) -> dict[str, float]:
        """Return the index of the phase."""
        return {"phase": self.phase}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return unit embeddings (rows, D)."""
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            if modality == "text":
                yield self._embed_captions(view.sequences(), rows)
            else:
                yield self._embed_images(torch.from_numpy(view.vectors()[rows]).to(device()))

    @property
    def cosine(self) -> bool:
        """True if `score` is the cosine."""
        return self.options.similarity == "cosine"

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return similarities S (q, g)."""
        if self.cosine:
            return super().score(queries, gallery, direction)
        first, second = (torch.from_numpy(x).to(device()) for x in (queries, gallery))
        if direction[0] == "image":
            return self._order(first, second).cpu().numpy()
        return self._order(second, first).T.cpu().numpy()

    def _order(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        return order_similarity(images, captions, self.options.similarity == "order")

    def _train_images(self, rows: torch.Tensor) -> torch.Tensor:
        return self._embed_images(self.images[to_device(rows)])

    def _train_captions(self, rows: torch.Tensor) -> torch.Tensor:
        return self._embed_captions(self.captions, rows.numpy())

    def _embed_images(self, features: torch.Tensor) -> torch.Tensor:
        return self._normalise(self.network["image"](features.float()))

    def _embed_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        return self._normalise(self.network["text"](pack(captions, rows)))

    def _normalise(self, x: torch.Tensor) -> torch.Tensor:
        return normalize(x).abs() if self.options.absolute else normalize(x)
