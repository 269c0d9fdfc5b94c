"""Images and captions in one space: the pipelines of Vilalta et al. 2019.

    i = n(W x)        c = n(GRU(E t))        n(u) = u / |u|, in order embeddings |n(u)|

    sum:   L = sum_ij A_ij + sum_ij B_ij                     (equation 1: SH, SOE)
    max:   L = sum_i max_j A_ij + sum_j max_i B_ij           (equation 4: MH, MOE)

A_ij = [a + S_ij - S_ii]_+ and B_ij = [a + S_ij - S_jj]_+ with i != j; S is the cosine or the order
similarity. PH and POE train with the sum first, then go on from the best epoch with the maximum.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_sequence

from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.encoders.captions import CaptionEncoder
from crossmodal.encoders.products import Linear
from crossmodal.errors import CrossmodalError
from crossmodal.losses import Hardest, hardest_ranking_loss, ranking_loss
from crossmodal.methods.base import Direction
from crossmodal.similarity import order_similarity
from crossmodal.store import Ragged
from crossmodal.training import GradientMethod, shuffled_batches

ROWS = 512
BETAS = (0.9, 0.999)
DROP = 0.1  # of the learning rate, as in the released launcher of FNE-MH

Batch = tuple[np.ndarray, np.ndarray]
Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]


class MultimodalEmbedding(GradientMethod):
    """A linear map of fixed image features and a GRU over words.

    Args:
        dims: D, size of the shared space and units of the GRU.
        word_dims: Size of the word embedding.
        image_bias: Whether the map of images has a bias: as released, not as published.
        similarity: S.
        absolute: Take the absolute values of the normalised embeddings.
        loss: Over all negatives, over the hardest, or first the one and then the other.
        hardest: The other index of each maximum: 'negative' as published, 'anchor' as released.
        margin: a.
        learning_rate: Of Adam.
        finetuning_rate: The same with the second loss of 'sum-max', otherwise null.
        drop_epoch: Epoch from which the learning rate is a tenth, as in a released launcher; null:
            never, as published.
        bias_correction: Of Adam's moments: 'published', or 'released', with 1 - beta for beta.
        clip: Largest L2 norm of the gradient of each parameter tensor; a GRU's gates share one.
        captions_per_epoch: A random caption of each image, or all of them.
        batch: Pairs per step; the last, incomplete batch of an epoch is dropped.
        epochs: Passes over the captions; the second loss goes on counting at the best of the first.
    """

    task = "instance"

    def __init__(
        self,
        dims: Positive,
        word_dims: Positive,
        image_bias: bool,
        similarity: Literal["cosine", "order"],
        absolute: bool,
        loss: Literal["sum", "max", "sum-max"],
        hardest: Hardest,
        margin: Annotated[float, Field(ge=0)],
        learning_rate: Rate,
        finetuning_rate: Rate | None,
        drop_epoch: Positive | None,
        bias_correction: Literal["published", "released"],
        clip: Annotated[float, Field(gt=0)],
        captions_per_epoch: Literal["one", "all"],
        batch: Annotated[int, Field(gt=1)],
        epochs: Positive,
    ) -> None:
        self.losses = loss.split("-")
        if (finetuning_rate is None) == (len(self.losses) == 2):
            raise ValueError(
                f"finetuning_rate: is {finetuning_rate} with loss {loss!r}; the rate of the second "
                "loss of 'sum-max', null otherwise"
            )
        if drop_epoch is not None and drop_epoch >= epochs:
            raise ValueError(f"drop_epoch: is {drop_epoch}, but the last epoch is {epochs - 1}")
        self.rates, self.phases = (learning_rate, finetuning_rate), len(self.losses)
        self.dims, self.word_dims, self.image_bias = dims, word_dims, image_bias
        self.similarity, self.absolute = similarity, absolute
        self.hardest, self.margin = hardest, margin
        self.drop_epoch = drop_epoch or epochs
        self.bias_correction, self.clip_norm = bias_correction, clip
        self.captions_per_epoch, self.batch, self.epochs = captions_per_epoch, batch, epochs

    def build(self, views: dict[str, View]) -> nn.Module:
        """Image map and caption encoder."""
        if set(views) != {"image", "text"} or not isinstance(views["text"].features, Ragged):
            raise CrossmodalError(
                "the method needs two views, an image and a text that is a sequence of word ids "
                f"(plug-in `tokens`), but has {', '.join(views)}"
            )
        words = len(views["text"].meta["vocabulary"])
        image = Linear(views["image"].vectors().shape[1], self.dims, bias=self.image_bias)
        nn.init.xavier_uniform_(image.weight)
        if self.image_bias:
            nn.init.zeros_(image.bias)
        return nn.ModuleDict(
            {"image": image, "text": CaptionEncoder(words, self.word_dims, self.dims)}
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with its usual moments."""
        trained = [p for p in self.network.parameters() if p.requires_grad]
        return torch.optim.Adam(trained, self.rates[self.phase], BETAS, fused=True)

    def learning_rate(self, epoch: int, step: int) -> float:
        """Constant but for the drop; the released bias correction is published Adam at another
        rate per step.
        """
        rate = self.rates[self.phase] * (DROP if epoch >= self.drop_epoch else 1)
        if self.bias_correction == "published":
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
                nn.utils.clip_grad_norm_(parameter, self.clip_norm)

    def place(self, train: Split) -> None:
        """Images on the device; captions of each image as a range of rows."""
        text = train.views["text"]
        self.images = torch.from_numpy(train.views["image"].features).to(device())  # (n, F)
        self.captions, self.owners = text.features, text.items
        edges = np.searchsorted(text.items, np.arange(len(train.items) + 1))
        self.first_caption, self.caption_counts = edges[:-1], np.diff(edges)
        self.similarities: list[torch.Tensor] = []  # of the present epoch

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Rows of images and of one caption of each."""
        chosen = np.arange(len(self.owners))
        if self.captions_per_epoch == "one":
            chosen = self.first_caption + rng.integers(self.caption_counts)
        size = min(self.batch, len(chosen))
        for rows in shuffled_batches(len(chosen), size, rng, drop_last=True):
            yield self.owners[chosen[rows]], chosen[rows]

    def loss(self, batch: Batch) -> torch.Tensor:
        """Equation 1 or 4 on the pairs of a batch; captions of one image are no negatives."""
        images, captions = (torch.from_numpy(rows) for rows in batch)
        negatives = (images[:, None] != images).to(device())
        i = self._embed_images(self.images[images.to(device())])
        c = self._embed_captions(self.captions, captions.numpy())
        scores = i @ c.T if self.similarity == "cosine" else order_similarity(i, c)
        seen = scores.detach()
        wrong = (seen * negatives).sum() / negatives.sum()
        self.similarities.append(torch.stack([seen.diagonal().mean(), wrong]))
        if self.losses[self.phase] == "sum":
            return ranking_loss(scores, self.margin, negatives)
        return hardest_ranking_loss(scores, self.margin, negatives, self.hardest)

    def log(self) -> dict[str, float]:
        """Mean similarity of the epoch's pairs and of their negatives: equal after a collapse."""
        positives, negatives = torch.stack(self.similarities).mean(0).tolist()
        self.similarities.clear()
        return {"phase": self.phase, "positives": positives, "negatives": negatives}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Unit embeddings (rows, D)."""
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            if modality == "text":
                yield self._embed_captions(view.features, rows)
            else:
                yield self._embed_images(torch.from_numpy(view.features[rows]).to(device()))

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """S (q, g)."""
        if self.similarity == "cosine":
            return super().score(queries, gallery, direction)
        first, second = (torch.from_numpy(x).to(device()) for x in (queries, gallery))
        if direction[0] == "image":
            return order_similarity(first, second).cpu().numpy()
        return order_similarity(second, first).T.cpu().numpy()

    def _embed_images(self, features: torch.Tensor) -> torch.Tensor:
        return self._normalise(self.network["image"](features.float()))

    def _embed_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        words = [torch.from_numpy(captions[row]).long() for row in rows]
        packed = pack_sequence(words, enforce_sorted=False).to(device())
        return self._normalise(self.network["text"](packed))

    def _normalise(self, x: torch.Tensor) -> torch.Tensor:
        return normalize(x).abs() if self.absolute else normalize(x)
