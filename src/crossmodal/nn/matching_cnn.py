"""Convolutions over the words of a caption, one of which sees the image, and the score of a pair.

    v_(l+1) = pool(relu(W_l [v_l at i, i + 1, i + 2] + b_l)),   v_0 the words' vectors, l = 0, 1, 2
    s = w relu(H v_3 + h) + b,   pool the larger one of two neighbours

At the level of words layer 0 adds U u to what the rectifier gets, u = relu(V x + c) the image; at
those of phrases layer 1 or 2, at that of the sentence the hidden layer. A position without any
word under it is zero, so that layers read no more positions than the longest caption needs. Source:
Ma et al., Multimodal convolutional neural networks for matching image and sentence, ICCV 2015.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.nn.functional import pad

from crossmodal.device import to_device
from crossmodal.nn.mlp import linear
from crossmodal.nn.onednn import Linear
from crossmodal.nn.typed import ModulesInOrder

Level = Literal["word", "short phrase", "long phrase", "sentence"]
LEVELS: tuple[Level, ...] = ("word", "short phrase", "long phrase", "sentence")
LONGEST = 30  # words of a caption; three layers leave two positions of them
WINDOW = 3
POSITIONS = (28, 12, 4)  # after each convolution, of so many words
LAST = 2
WORD_RANGE = 0.1
BLOCK_ELEMENTS = 2**23  # of the maps of pairs, held at once: about what caches hold
CAPTIONS = 256  # of about the same length, scored at once

Texts = tuple[torch.Tensor, torch.Tensor]  # what meets the image, and how many positions have words


class MatchingCNN(nn.Module):
    """The network of one level.

    Args:
        level: Where captions meet images.
        words: Size of the vocabulary.
        word_dims: Size of the word vectors.
        width: Size of x.
        image_dims: Size of u.
        channels: Maps of each convolution.
        hidden: Units of the hidden layer.
        dropout: Rate at which hidden units are dropped.
    """

    def __init__(
        self,
        level: Level,
        words: int,
        word_dims: int,
        width: int,
        image_dims: int,
        channels: list[int],
        hidden: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.meeting = LEVELS.index(level)
        self.words = nn.Embedding(words, word_dims, padding_idx=0)
        nn.init.uniform_(self.words.weight, -WORD_RANGE, WORD_RANGE)
        nn.init.zeros_(self.words.weight[0])
        sizes = [word_dims, *channels]
        layers = [Linear(WINDOW * width, maps) for width, maps in pairwise(sizes)]
        self.layers: ModulesInOrder[Linear] = ModulesInOrder(layers)
        self.image = linear(width, image_dims)
        self.of_image = linear(image_dims, [*channels, hidden][self.meeting], bias=False)
        self.hidden = linear(LAST * channels[-1], hidden)
        self.dropout = nn.Dropout(dropout)
        self.output = linear(hidden, 1)

    def images(self, features: torch.Tensor) -> torch.Tensor:
        """Return u (n, image_dims) of features x (n, width)."""
        return self.image(features).relu()

    def texts(self, captions: np.ndarray) -> Texts:
        """Return what meets an image, (m, t, channels) or (m, hidden), of padded words (m, 30)."""
        lengths = (~np.isnan(captions)).sum(1)
        counts = to_device(lengths)
        ids = to_device(np.nan_to_num(captions[:, : lengths.max()]).astype(np.int64))
        maps = self.words(ids)
        for layer in range(self.meeting):
            maps, counts = pool(self._convolve(layer, maps), counts)
        if self.meeting < len(self.layers):
            return self._convolve(self.meeting, maps), counts
        return self.hidden(_flat(maps)), counts

    def _convolve(self, layer: int, maps: torch.Tensor) -> torch.Tensor:
        """Return the positions that a layer makes of maps (m, t, c), which are zero behind t."""
        length = maps.shape[1]
        positions = min(length + length % 2, POSITIONS[layer])
        maps = pad(maps, (0, 0, 0, positions + WINDOW - 1 - length))
        windows = torch.cat([maps[:, start : start + positions] for start in range(WINDOW)], 2)
        return self.layers[layer](windows.flatten(0, 1)).view(len(maps), positions, -1)

    def pairs(self, images: torch.Tensor, texts: Texts) -> torch.Tensor:
        """Return the scores (b,) of images u (b, image_dims) and captions, pair by pair."""
        (maps, counts), seen = texts, self.of_image(images)
        if self.meeting < len(self.layers):
            maps, counts = pool(maps + seen[:, None], counts)
            for layer in range(self.meeting + 1, len(self.layers)):
                maps, counts = pool(self._convolve(layer, maps), counts)
            hidden = self.hidden(_flat(maps))
        else:
            hidden = maps + seen
        return self.output(self.dropout(hidden.relu()))[:, 0]

    def every_pair(self, images: torch.Tensor, captions: np.ndarray) -> torch.Tensor:
        """Return the scores (n, m) of all images and captions, in tiles of bounded memory.

        Args:
            images: u (n, image_dims).
            captions: Padded words, (m, 30).
        """
        widest = LONGEST * max(layer.out_features for layer in self.layers)
        down = max(1, BLOCK_ELEMENTS // (widest * CAPTIONS))
        order = np.argsort((~np.isnan(captions)).sum(1), kind="stable")
        scores = images.new_zeros(len(images), len(captions))
        for start in range(0, len(order), CAPTIONS):
            rows = order[start : start + CAPTIONS]
            texts = self.texts(captions[rows])
            tiles = [self._tile(part, texts) for part in images.split(down)]
            scores[:, to_device(rows)] = torch.cat(tiles)
        return scores

    def _tile(self, images: torch.Tensor, texts: Texts) -> torch.Tensor:
        """Return the scores (n, m) of some images and captions."""
        maps, counts = (part.repeat(len(images), *[1] * (part.ndim - 1)) for part in texts)
        scores = self.pairs(images.repeat_interleave(len(texts[1]), 0), (maps, counts))
        return scores.view(len(images), -1)


def _flat(maps: torch.Tensor) -> torch.Tensor:
    """Return the last maps (m, t, c), zero behind t, as rows (m, 2 c)."""
    return pad(maps, (0, 0, 0, LAST - maps.shape[1])).flatten(1)


def pool(maps: torch.Tensor, counts: torch.Tensor) -> Texts:
    """Take the larger one of two neighbours of maps (m, t, c), rectified, (m, t / 2, c).

    Args:
        maps: Before the rectifier; t is even.
        counts: Positions with a word under them, at least as many as that; behind, maps are zero.

    Returns:
        The maps, and how many of their positions have a word under them.
    """
    inside = torch.arange(maps.shape[1], device=maps.device) < counts[:, None]
    maps = maps * inside[:, :, None]
    return torch.maximum(maps[:, ::2], maps[:, 1::2]).relu(), (counts + 1) // 2
