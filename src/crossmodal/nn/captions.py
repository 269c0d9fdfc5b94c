"""Captions as the last state of a GRU over their words."""

from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import View
from crossmodal.device import to_device
from crossmodal.errors import CrossmodalError
from crossmodal.nn.gru import backward_order, gru_states
from crossmodal.nn.onednn import linear
from crossmodal.nn.precision import narrowed

WORD_RANGE = 0.1

Initialisation = Literal["orthogonal", "uniform"]


def vocabulary_size(views: dict[str, View]) -> int:
    """Return the number of words that captions may have.

    Raises:
        CrossmodalError: If the views are others than images and texts of word ids.
    """
    if set(views) != {"image", "text"} or not isinstance(views["text"].features, Ragged):
        raise CrossmodalError(
            "the method needs two views, an image and a text that is a sequence of word ids "
            f"(plug-in `tokens`), but has {', '.join(views)}"
        )
    return len(views["text"].meta["vocabulary"])


def pack(captions: Ragged, rows: np.ndarray) -> PackedSequence:
    """Pack the word ids of some captions (b,), without padding, on the device."""
    words = [torch.from_numpy(captions[row]).long() for row in rows]
    return to_device(pack_sequence(words, enforce_sorted=False))


class CaptionEncoder(nn.Module):
    """Word embedding and one GRU layer; its last state, (b, D).

    The gates are r = s(U_r h + W_r e + b_r), u = s(U_u h + W_u e + b_u) and the candidate
    tanh(r * (U_g h) + W_g e + b_g): PyTorch's GRU without its second bias.

    Args:
        words: Size of the vocabulary, special tokens included.
        word_dims: Size of the word embedding.
        dims: D.
        initialisation: Of the GRU's matrices: 'orthogonal' where they are square, else uniform
            within 0.1; or 'uniform' within D^-1/2, as PyTorch's.
    """

    def __init__(
        self, words: int, word_dims: int, dims: int, initialisation: Initialisation = "orthogonal"
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, word_dims)
        self.gru = nn.GRU(word_dims, dims)
        nn.init.uniform_(self.words.weight, -WORD_RANGE, WORD_RANGE)
        if initialisation == "orthogonal":
            self._orthogonalise(word_dims == dims)
        *_, bias, second = self.gru.all_weights[0]
        nn.init.zeros_(bias)
        nn.init.zeros_(second)
        second.requires_grad_(False)

    def _orthogonalise(self, square: bool) -> None:
        """Draw the matrices of the gates anew, those of the words orthogonal if they are square."""
        inputs, recurrent, *_ = self.gru.all_weights[0]
        for gate in inputs.chunk(3):
            if square:
                nn.init.orthogonal_(gate)
            else:
                nn.init.uniform_(gate, -WORD_RANGE, WORD_RANGE)
        for gate in recurrent.chunk(3):
            nn.init.orthogonal_(gate)

    def forward(self, words: PackedSequence) -> torch.Tensor:
        """Return the last state (b, D) of each caption's word ids."""
        if words.data.is_cuda:  # cuDNN runs all steps in one call
            _, last = self.gru(words._replace(data=self.words(words.data)))
            return last[0]
        distinct, rows = words.data.unique(return_inverse=True)
        inputs, recurrent, bias, second = self.gru.all_weights[0]
        mapped = linear(narrowed(self.words(distinct)), inputs, bias)
        sizes = words.batch_sizes.tolist()
        states = gru_states(mapped, rows, sizes, recurrent, second)
        last = backward_order(sizes)[words.unsorted_indices]  # it begins with the last steps
        return states[last]
