"""Language models of captions in both directions, which see an image; see Wang et al. 2016."""

from collections.abc import Collection
from typing import Literal

import numpy as np
import torch
from torch import nn

from crossmodal.device import to_device
from crossmodal.nn.caption_likelihood import RANGE, LanguageModel
from crossmodal.nn.onednn import Linear
from crossmodal.nn.typed import ModulesByName

Way = Literal["onward", "backward"]
WAYS: tuple[Way, ...] = ("onward", "backward")


class BidirectionalCaptioner(nn.Module):
    """The map of images, and a language model of each direction.

    Args:
        width: Size F of image features.
        words: Size of the vocabulary.
        word_dims: Size of the word embeddings.
        dims: Units of the LSTMs, and size of a mapped image.
        dropout: Dropout rate of image features, and of units of the language models.
        references: Number of images that are kept with the weights.

    Attributes:
        references: These images' features, (references, F).
    """

    references: torch.Tensor

    def __init__(
        self, width: int, words: int, word_dims: int, dims: int, dropout: float, references: int
    ) -> None:
        super().__init__()
        layer = Linear(width, dims)
        nn.init.uniform_(layer.weight, -RANGE, RANGE)
        nn.init.zeros_(layer.bias)
        self.map = nn.Sequential(nn.Dropout(dropout), layer)
        models: dict[str, nn.Module] = {
            way: LanguageModel(words, word_dims, dims, dropout) for way in WAYS
        }
        self.models: ModulesByName[LanguageModel] = ModulesByName(models)
        self.register_buffer("references", torch.zeros(references, width))

    def loss(self, images: torch.Tensor, captions: np.ndarray, longest: int) -> torch.Tensor:
        """Sum the mean negative log-probabilities of a word of both directions.

        Args:
            images: Mapped, (b, dims).
            captions: Padded words, (b, t).
            longest: Words of a caption that each model predicts at most.
        """
        lengths = (~np.isnan(captions)).sum(1)
        steps = min(int(lengths.max()), longest + 1)  # the first is only read
        inside = to_device(np.arange(steps) < lengths[:, None])
        forward, backward = (
            self.models[way].loss(images, to_device(in_order(captions, way)[:, :steps]), inside)
            for way in WAYS
        )
        return forward + backward

    def log_likelihood(
        self, images: torch.Tensor, captions: np.ndarray, ways: Collection[Way]
    ) -> torch.Tensor:
        """Return the log-likelihoods (n, m), summed over directions.

        Args:
            images: Mapped, (n, dims).
            captions: Padded words, (m, t).
            ways: Directions.
        """
        lengths = (~np.isnan(captions)).sum(1)
        likelihoods = [
            self.models[way].log_likelihood(images, in_order(captions, way), lengths)
            for way in ways
        ]
        return torch.stack(likelihoods).sum(0)


def in_order(captions: np.ndarray, way: Way) -> np.ndarray:
    """Return padded words (n, t) as ids, in one direction; 0 behind them."""
    places, lengths = np.arange(captions.shape[1]), (~np.isnan(captions)).sum(1)
    inside = places < lengths[:, None]
    if way == "backward":
        mirrored = np.where(inside, lengths[:, None] - 1 - places, 0)
        captions = np.take_along_axis(captions, mirrored, 1)
    return np.where(inside, captions, 0).astype(np.int64)
