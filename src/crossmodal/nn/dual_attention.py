"""Attention in steps, to the regions of an image or the words of a caption (Nam et al. 2017).

    h_n = tanh(W_k x_n) * tanh(M_k m)        a = softmax_n(w_k h_n)        c_k = f_k(sum_n a_n x_n)

with the memory m = c_0 + ... + c_(k-1) and c_0 = f_0(mean_n x_n). Of images f_k(x) = tanh(P_k x),
which brings regions into the space of words; of captions f_k(x) = x.
"""

import torch
from torch import nn

from crossmodal.nn.mlp import linear
from crossmodal.nn.typed import ModulesInOrder


class Attention(nn.Module):
    """One step: a mean of the parts, weighted by what the memory makes of them.

    Args:
        width: Numbers of a part x_n.
        dims: Those of the memory, and hidden units.
        dropout: Rate of the hidden units h_n.
    """

    def __init__(self, width: int, dims: int, dropout: float) -> None:
        super().__init__()
        self.of_parts, self.of_memory = linear(width, dims), linear(dims, dims)
        self.weigh, self.dropout = linear(dims, 1, bias=False), nn.Dropout(dropout)

    def forward(
        self, parts: torch.Tensor, memory: torch.Tensor, inside: torch.Tensor
    ) -> torch.Tensor:
        """Return weighted means (b, width); see `AttentionSteps`."""
        hidden = self.of_parts(parts.flatten(0, 1)).tanh().view(*parts.shape[:2], -1)
        hidden = self.dropout(hidden * self.of_memory(memory).tanh()[:, None])
        scores = self.weigh(hidden.flatten(0, 1)).view(inside.shape)
        weights = scores.masked_fill(~inside, -torch.inf).softmax(1)
        return (weights[:, None] @ parts)[:, 0]


class AttentionSteps(nn.Module):
    """Contexts of all steps, side by side.

    Args:
        width: Numbers of a part x_n; those of a context where nothing is projected.
        dims: Numbers of a context c_k.
        steps: Steps K after the mean.
        dropout: Rate of the hidden units.
        projects: Whether f_k is a layer, or nothing.
    """

    def __init__(self, width: int, dims: int, steps: int, dropout: float, projects: bool) -> None:
        super().__init__()
        self.attend = ModulesInOrder[Attention](
            Attention(width, dims, dropout) for _ in range(steps)
        )
        self.project = nn.ModuleList(
            nn.Sequential(linear(width, dims), nn.Tanh()) if projects else nn.Identity()
            for _ in range(steps + 1)
        )

    def forward(self, parts: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        """Return contexts c_0, ..., c_K in a row, (b, (K + 1) dims).

        Args:
            parts: x (b, n, width), padded with anything finite.
            inside: Which are parts, (b, n) bool; each row has one or more.
        """
        first, *others = self.project
        weights = inside.to(parts) / inside.sum(1, keepdim=True)
        memory = first((weights[:, None] @ parts)[:, 0])
        contexts = [memory]
        for attend, project in zip(self.attend, others, strict=True):
            contexts.append(project(attend(parts, memory, inside)))
            memory = memory + contexts[-1]
        return torch.cat(contexts, 1)
