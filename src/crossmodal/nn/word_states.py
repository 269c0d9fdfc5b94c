"""Captions as states of a bidirectional LSTM, one of each word and direction."""

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

WORD_RANGE = 0.1


class WordStates(nn.Module):
    """Word vectors, and a bidirectional LSTM over those of a caption.

    Args:
        words: Size of the vocabulary, special tokens included.
        word_dims: Dimensions of the word vectors.
        dims: Units D of each direction.
        dropout: Rate at which numbers of the word vectors are dropped.
    """

    def __init__(self, words: int, word_dims: int, dims: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, word_dims)
        nn.init.uniform_(self.words.weight, -WORD_RANGE, WORD_RANGE)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(word_dims, dims, bidirectional=True)

    def forward(self, words: PackedSequence) -> tuple[torch.Tensor, torch.Tensor]:
        """Read the word ids of captions.

        Returns:
            States (b, t, 2, D), zero behind the last word of a caption: of the words before and
            with it, and of those with and after it. Which are of words, (b, t) bool.
        """
        vectors = self.dropout(self.words(words.data))
        packed, _ = self.lstm(words._replace(data=vectors))
        states, counts = pad_packed_sequence(packed, batch_first=True)
        inside = torch.arange(states.shape[1]) < counts[:, None]
        return states.unflatten(2, (2, -1)), inside.to(states.device)
