"""The likelihood of captions of images, by a language model of two LSTMs.

    s_t = LSTM(e(w_1), ..., e(w_t)),   m_t = LSTM([s_1; v], ..., [s_t; v]),
    log p(w | v) = sum_t log softmax(W m_t + b)[w_(t+1)]

The states s are of the text alone, and m sees the image v at each step. Captions that begin alike
share their states and the normaliser of the softmax, which is most of the work.
"""

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.device import to_device
from crossmodal.nn.onednn import Linear, linear
from crossmodal.nn.prefixes import PrefixStep, prefix_steps

RANGE = 0.08
CAPTIONS = 256  # scored together; neighbours in alphabetical order, which begin alike
BLOCK_ELEMENTS = 2**25  # of gates, held at once
LOGIT_ELEMENTS = 2**21  # of scores of words, held at once: what the caches of a processor hold

State = tuple[torch.Tensor, torch.Tensor]  # h and c of an LSTM


class LanguageModel(nn.Module):
    """Predicts each word of a caption from those before it and the image.

    Args:
        words: Size of the vocabulary.
        word_dims: Size of the word embedding.
        dims: Units of both LSTMs, and size of v.
        dropout: Rate at which units of m are dropped.
    """

    def __init__(self, words: int, word_dims: int, dims: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, word_dims)
        self.text = nn.LSTM(word_dims, dims, batch_first=True)
        self.multimodal = nn.LSTM(2 * dims, dims, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(dims, words)
        for name, parameter in self.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
                parameter.requires_grad_("bias_hh" not in name)  # a second bias
            else:
                nn.init.uniform_(parameter, -RANGE, RANGE)

    def loss(self, images: torch.Tensor, words: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        """Average the negative log-probability of the words after the first.

        Args:
            images: v (b, dims).
            words: Ids (b, t), padded with any word.
            inside: Which are of the caption, (b, t) bool.
        """
        states, _ = self.text(self.words(words[:, :-1]))
        every = images[:, None].expand(-1, states.shape[1], -1)
        states, _ = self.multimodal(torch.cat([states, every], 2))
        predicted = inside[:, 1:]
        logits = self.output(self.dropout(states[predicted]))
        return cross_entropy(logits, words[:, 1:][predicted])

    def log_likelihood(
        self, images: torch.Tensor, ids: np.ndarray, lengths: np.ndarray
    ) -> torch.Tensor:
        """Return log p of every image and caption, (n, m), in blocks of bounded memory.

        Args:
            images: v (n, dims).
            ids: Words of captions, (m, t), padded with anything.
            lengths: How many of them are the caption's, (m,).
        """
        order = np.lexsort(ids.T[::-1])
        scores = images.new_zeros(len(images), len(ids))
        for start in range(0, len(order), CAPTIONS):
            rows = order[start : start + CAPTIONS]
            steps = list(prefix_steps(ids[rows], lengths[rows]))
            texts = self._text_states(steps)
            size = max(1, BLOCK_ELEMENTS // (4 * images.shape[1] * len(rows)))
            parts = [self._block(part, len(rows), steps, texts) for part in images.split(size)]
            scores[:, to_device(rows)] = torch.cat(parts, 1).T
        return scores

    def _text_states(self, steps: list[PrefixStep]) -> list[torch.Tensor]:
        """Return s of each beginning, (k, dims), for each step."""
        states: list[torch.Tensor] = []
        inputs, recurrent, bias, _ = self.text.all_weights[0]
        h = c = recurrent.new_zeros(1, recurrent.shape[1])
        for step in steps:
            parents = to_device(step.parents)
            words = self.words(to_device(step.steps))
            gates = linear(words, inputs, bias) + linear(h[parents], recurrent, None)
            h, c = lstm_step(gates, c[parents])
            states.append(h)
        return states

    def _block(
        self, images: torch.Tensor, count: int, steps: list[PrefixStep], texts: list[torch.Tensor]
    ) -> torch.Tensor:
        """Return log p (count, n) of some captions and images."""
        inputs, recurrent, bias, _ = self.multimodal.all_weights[0]
        of_text, of_image = (part.contiguous() for part in inputs.chunk(2, 1))
        of_images = linear(images, of_image, bias)  # (n, 4 dims)
        scores = images.new_zeros(count, len(images))
        h = c = images.new_zeros(1, *images.shape)
        for step, text in zip(steps, texts, strict=True):
            parents = to_device(step.parents)
            gates = linear(h[parents].flatten(0, 1), recurrent, None).view(-1, *of_images.shape)
            gates = gates.add_(linear(text, of_text, None)[:, None]).add_(of_images)
            h, c = lstm_step(gates, c[parents])  # (k, n, dims)
            scores[to_device(step.rows)] += self._next_word(h, step)
        return scores

    def _next_word(self, states: torch.Tensor, step: PrefixStep) -> torch.Tensor:
        """Return the log-probability (a, n) of each next word after states m (k, n, dims)."""
        weight, bias = self.output.weight, self.output.bias
        size = max(1, LOGIT_ELEMENTS // len(weight))
        parts = [self.output(part).logsumexp(1) for part in states.flatten(0, 1).split(size)]
        normaliser = torch.cat(parts).view(states.shape[:2])  # (k, n)
        places, following = to_device(step.places), to_device(step.following)
        scores = (states[places] @ weight[following, :, None]).squeeze(2)  # (a, n)
        return scores + bias[following, None] - normaliser[places]


def lstm_step(gates: torch.Tensor, cells: torch.Tensor) -> State:
    """Return h and c (..., D) after a step.

    Args:
        gates: Of input, forgetting, cell and output before their functions, (..., 4 D).
        cells: c before the step, (..., D).
    """
    i, f, g, o = gates.chunk(4, -1)
    cells = f.sigmoid() * cells + i.sigmoid() * g.tanh()
    return o.sigmoid() * cells.tanh(), cells
