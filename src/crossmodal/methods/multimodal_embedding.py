"""Images and captions in one space: the SH pipeline of Vilalta et al. 2019.

    i = n(W x)        c = n(GRU(E t))        n(u) = u / |u|
    L = sum_ij [a + S_ij - S_ii]_+ + [a + S_ij - S_jj]_+,  S = cosine,  i != j        (equation 1)

Image features are fixed and mapped without a bias; the GRU's last state describes the caption. Each
epoch takes every image once, with one of its captions drawn at random.
"""

from collections.abc import Iterable
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.errors import CrossmodalError
from crossmodal.losses import ranking_loss
from crossmodal.store import Ragged
from crossmodal.training import GradientMethod, shuffled_batches

ROWS = 512
WORD_RANGE = 0.1


class MultimodalEmbedding(GradientMethod):
    """A linear map of image features and a GRU over words, trained with the sum of hinges.

    Args:
        dims: D, size of the shared space and units of the GRU.
        word_dims: Size of the word embedding.
        margin: a.
        learning_rate: Of Adam.
        clip: Largest L2 norm of the gradient of each parameter tensor; a GRU's gates share one.
        batch: Pairs per step; the last, incomplete batch of an epoch is dropped.
        epochs: Passes over the images.
    """

    task = "instance"

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        word_dims: Annotated[int, Field(gt=0)],
        margin: Annotated[float, Field(ge=0)],
        learning_rate: Annotated[float, Field(gt=0)],
        clip: Annotated[float, Field(gt=0)],
        batch: Annotated[int, Field(gt=1)],
        epochs: Annotated[int, Field(gt=0)],
    ) -> None:
        self.dims, self.word_dims, self.margin = dims, word_dims, margin
        self.rate, self.clip_norm = learning_rate, clip
        self.batch, self.epochs = batch, epochs

    def build(self, views: dict[str, View]) -> nn.Module:
        """Image map and caption encoder."""
        if set(views) != {"image", "text"} or not isinstance(views["text"].features, Ragged):
            raise CrossmodalError(
                "the method needs two views, an image and a text that is a sequence of word ids "
                f"(plug-in `tokens`), but has {', '.join(views)}"
            )
        words = len(views["text"].meta["vocabulary"])
        image = nn.Linear(views["image"].vectors().shape[1], self.dims, bias=False)
        nn.init.xavier_uniform_(image.weight)
        return nn.ModuleDict(
            {"image": image, "text": CaptionEncoder(words, self.word_dims, self.dims)}
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with its usual moments."""
        trained = [p for p in self.network.parameters() if p.requires_grad]
        return torch.optim.Adam(trained, self.rate, fused=True)

    def learning_rate(self, epoch: int, step: int) -> float:
        """Constant."""
        return self.rate

    def clip(self) -> None:
        """Clip each parameter tensor by itself."""
        for parameter in self.network.parameters():
            if parameter.grad is not None:
                nn.utils.clip_grad_norm_(parameter, self.clip_norm)

    def place(self, train: Split) -> None:
        """Images on the device; captions of each image as a range of rows."""
        image, self.captions = train.views["image"], train.views["text"].features
        self.images = torch.from_numpy(image.features).to(device())  # (n, F)
        edges = np.searchsorted(train.views["text"].items, np.arange(len(train.items) + 1))
        self.first_caption, self.caption_counts = edges[:-1], np.diff(edges)

    def batches(
        self, epoch: int, rng: np.random.Generator
    ) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Rows of images and of one random caption of each."""
        chosen = self.first_caption + rng.integers(self.caption_counts)
        size = min(self.batch, len(chosen))
        for rows in shuffled_batches(len(chosen), size, rng, drop_last=True):
            yield rows, chosen[rows]

    def loss(self, batch: tuple[np.ndarray, np.ndarray]) -> torch.Tensor:
        """Equation 1 on the pairs of a batch, summed."""
        images, captions = batch
        i = self._embed_images(self.images[torch.from_numpy(images).to(device())])
        c = self._embed_captions(self.captions, captions)
        return ranking_loss(i @ c.T, self.margin)

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Unit embeddings (rows, D)."""
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            if modality == "text":
                yield self._embed_captions(view.features, rows)
            else:
                yield self._embed_images(torch.from_numpy(view.features[rows]).to(device()))

    def _embed_images(self, features: torch.Tensor) -> torch.Tensor:
        return normalize(self.network["image"](features.float()))

    def _embed_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        words = [torch.from_numpy(captions[row]).long() for row in rows]
        packed = pack_sequence(words, enforce_sorted=False).to(device())
        return normalize(self.network["text"](packed))


class CaptionEncoder(nn.Module):
    """Word embedding and one GRU layer; its last state, (b, D).

    The gates are r = s(U_r h + W_r e + b_r), u = s(U_u h + W_u e + b_u) and the candidate
    tanh(r * (U_g h) + W_g e + b_g): PyTorch's GRU without its second bias.

    Args:
        words: Size of the vocabulary, special tokens included.
        word_dims: Size of the word embedding.
        dims: D.
    """

    def __init__(self, words: int, word_dims: int, dims: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, word_dims)
        self.gru = nn.GRU(word_dims, dims)
        nn.init.uniform_(self.words.weight, -WORD_RANGE, WORD_RANGE)
        for gate in self.gru.weight_ih_l0.chunk(3):
            if word_dims == dims:
                nn.init.orthogonal_(gate)
            else:
                nn.init.uniform_(gate, -WORD_RANGE, WORD_RANGE)
        for gate in self.gru.weight_hh_l0.chunk(3):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.gru.bias_ih_l0)
        nn.init.zeros_(self.gru.bias_hh_l0)
        self.gru.bias_hh_l0.requires_grad_(False)

    def forward(self, words: PackedSequence) -> torch.Tensor:
        """Last state (b, D) of each caption's word ids."""
        _, last = self.gru(words._replace(data=self.words(words.data)))
        return last[0]
