"""2WayNet: tied networks from either view to the other (Eisenschtat and Wolf 2017).

    h_0 = x,  h_k = m_k * r(bn_k(W_k h_k-1)) / (1 - p)^(1/2),  y^ = W_L h_L-1 + b          x to y
    g_L = y,  g_k = m_k * r(bn'_k(W_k+1' g_k+1)) / (1 - p)^(1/2),  x^ = W_1' g_1 + b'      y to x

r is the leaky ReLU, and both channels drop the same units, m_k. With C = h'h / b of a batch of b
pairs and the layer j in the middle,

    L = |x - x^|^2 + |y - y^|^2 + w |h_j - g_j|^2 + d sum_(C of h_j, g_j) (|C| - |diag C|)
        + v sum 1 / gamma^2 + c (sum W^2 + sum gamma^2)

where 1 / gamma^2 of the batch norms keeps the variance of units up. The last layer may be locally
dense: it maps equal parts of its inputs apart from each other. Retrieval by the correlation of
h_j and g_j.

Source: A. Eisenschtat and L. Wolf, Linking image and text with 2-way nets, CVPR 2017, and the
released code.
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import leaky_relu, normalize

from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.errors import CrossmodalError
from crossmodal.learning.scaling_layer import ScalingLayer
from crossmodal.nn.losses import squared_error, total
from crossmodal.nn.typed import ModulesByName, ModulesInOrder
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches, vectors_in_parts

LEAKINESS = 0.3
EPSILON, MOVING = 1e-3, 0.01  # of the batch norms
GAMMA = (0.95, 1.05)  # at first


class TwoWayNet(GradientMethod[np.ndarray]):
    """Two tied channels, whose middle layers meet.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import TwoWayNet
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> network = TwoWayNet(hidden=[8, 8, 8], epochs=2).fit(sepals, petals, species)
        >>> network.similarity(sepals, petals).shape
        (150, 150)
    """

    class Options(Strict):
        """Options of the channels, the loss and its training."""

        hidden: list[Count] = Field(
            min_length=1, description="Units of each hidden layer, from the first view on."
        )
        parts: Count = Field(
            1,
            description="Parts of the last layer that are mapped apart from each other; 1: all to "
            "all.",
        )
        dropout: float = Field(ge=0, lt=1, description="Share p of the hidden units dropped.")
        middle_weight: NotNegative = Field(description="Weight w of the middle layers' distance.")
        decorrelation: NotNegative = Field(description="Weight d of the correlation of units.")
        variance: NotNegative = Field(description="Weight v of the inverse scales.")
        weight_decay: NotNegative = Field(0.05, description="Weight c of the squared weights.")
        learning_rate: Positive = Field(description="Learning rate at first.")
        momentum: float = Field(0.9, ge=0, lt=1, description="Nesterov momentum.")
        decay_every: Count = Field(description="Epochs after which the learning rate halves.")
        batch: int = Field(
            128, gt=1, description="Pairs per step; the last, incomplete one is dropped."
        )
        epochs: Count = Field(description="Passes over all pairs.")

    options: Options

    task = "instance"
    network: "TwoWayNetwork"

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build both channels, and the scaling of their inputs, of each by one number.

        Raises:
            CrossmodalError: If there are not two views, or `parts` does not divide a width.
        """
        if len(views) != 2:
            raise CrossmodalError(f"the method needs two views, but has {', '.join(views)}")
        o, (first, second) = self.options, (v.vectors().shape[1] for v in views.values())
        for width in (o.hidden[-1], second):
            if width % o.parts:
                raise CrossmodalError(
                    f"parts: is {o.parts}, which does not divide {width}, a width of the last layer"
                )
        # z-scores would let columns weigh the same that hardly vary, in what is rebuilt
        scalers = {m: ScalingLayer(v.vectors().shape[1], "centre-scale") for m, v in views.items()}
        channels = Channels([first, *o.hidden, second], o.parts, o.dropout)
        return TwoWayNetwork(scalers, channels)

    def optimizer(self) -> torch.optim.Optimizer:
        """Return stochastic gradient descent with Nesterov momentum."""
        o = self.options
        nesterov = o.momentum > 0
        return torch.optim.SGD(self.network.parameters(), momentum=o.momentum, nesterov=nesterov)

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate, which halves every `decay_every` epochs."""
        return self.options.learning_rate * 0.5 ** (epoch // self.options.decay_every)

    def place(self, train: Split) -> None:
        """Place rows of both views, and the pairs of rows; fit the scaling."""
        self.rows = {m: torch.from_numpy(v.vectors()).to(device()) for m, v in train.views.items()}
        _, pairs = train.pairs()
        self.pairs = [torch.from_numpy(pairs[m]) for m in train.views]
        for modality, rows in self.rows.items():
            self.network.scalers[modality].fit(rows.float())

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[np.ndarray]:
        """Return numbers of pairs, each once."""
        count = len(self.pairs[0])
        return shuffled_batches(count, min(self.options.batch, count), rng, drop_last=True)

    def loss(self, batch: np.ndarray) -> torch.Tensor:
        """Return L of a batch."""
        o, channels = self.options, self.network.channels
        x, y = (
            self._scaled(m, self.rows[m][to_device(rows[batch])])
            for (m, rows) in zip(self.rows, self.pairs, strict=True)
        )
        masks = channels.draw_masks(len(x))
        h, predicted_y = channels.forwards(x, masks)
        g, predicted_x = channels.backwards(y, masks)
        loss = squared_error(predicted_x, x) + squared_error(predicted_y, y)
        loss = loss + o.middle_weight * squared_error(h, g)
        loss = loss + o.decorrelation * (correlation(h) + correlation(g))
        scales, weights = channels.scales(), [*channels.weights]
        loss = loss + o.variance * total((1 / s).square().sum() for s in scales)
        return loss + o.weight_decay * total(p.square().sum() for p in [*scales, *weights])

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return unit outputs of the middle layer without their mean, (rows, units)."""
        channels, first = self.network.channels, next(iter(self.network.scalers))
        way = channels.forwards if modality == first else channels.backwards
        for rows in vectors_in_parts(view):
            middle, _ = way(self._scaled(modality, rows))
            yield normalize(middle - middle.mean(1, keepdim=True))

    def _scaled(self, modality: str, rows: torch.Tensor) -> torch.Tensor:
        return self.network.scalers[modality](rows.float())


class TwoWayNetwork(nn.Module):
    """Both channels, and the scaling of their inputs.

    Args:
        scalers: By modality, the first view's first.
        channels: Both channels.
    """

    def __init__(self, scalers: dict[str, ScalingLayer], channels: "Channels") -> None:
        super().__init__()
        self.scalers = ModulesByName[ScalingLayer](scalers)
        self.channels = channels


class Channels(nn.Module):
    """Both channels.

    Args:
        widths: Of the first view, the hidden layers and the second view.
        parts: See `TwoWayNet`.
        dropout: p.
    """

    def __init__(self, widths: list[int], parts: int, dropout: float) -> None:
        super().__init__()
        self.widths, self.dropout, self.middle = widths, dropout, (len(widths) - 2) // 2
        full = [(width, units, 1) for width, units in pairwise(widths[:-1])]
        self.weights = nn.ParameterList(glorot(*layer) for layer in (*full, (*widths[-2:], parts)))
        self.norms = ModulesInOrder[ModulesInOrder[nn.BatchNorm1d]](
            ModulesInOrder[nn.BatchNorm1d](nn.BatchNorm1d(w, EPSILON, MOVING) for w in widths[1:-1])
            for _ in range(2)
        )
        for scale in self.scales():
            nn.init.uniform_(scale, *GAMMA)
        self.biases = nn.ParameterList(torch.zeros(width) for width in (widths[-1], widths[0]))

    def scales(self) -> list[torch.Tensor]:
        """Return the scales gamma of all batch norms."""
        return [norm.weight for norms in self.norms for norm in norms]

    def draw_masks(self, rows: int) -> list[torch.Tensor]:
        """Draw the masks m / (1 - p)^(1/2) of each hidden layer, (rows, units)."""
        share, on = 1 - self.dropout, self.biases[0].device
        return [
            torch.bernoulli(torch.full((rows, w), share, device=on)) / share**0.5
            for w in self.widths[1:-1]
        ]

    def forwards(
        self, x: torch.Tensor, masks: list[torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return middle layer h_j and prediction of y, from x; nothing is dropped without masks."""
        hidden = []
        for k, norm in enumerate(self.norms[0]):
            x = leaky_relu(norm(apart(x, self.weights[k])), LEAKINESS)
            x = x if masks is None else x * masks[k]
            hidden.append(x)
        return hidden[self.middle], apart(x, self.weights[-1]) + self.biases[0]

    def backwards(
        self, y: torch.Tensor, masks: list[torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the middle layer g_j and prediction of x, from y."""
        hidden = {}
        for k, norm in reversed([*enumerate(self.norms[1])]):
            y = leaky_relu(norm(apart(y, self.weights[k + 1].mT)), LEAKINESS)
            y = y if masks is None else y * masks[k]
            hidden[k] = y
        return hidden[self.middle], apart(y, self.weights[0].mT) + self.biases[1]


def glorot(width: int, units: int, parts: int) -> torch.Tensor:
    """Return Glorot-uniform weights (parts, units / parts, width / parts) of a layer."""
    empty = torch.empty(parts, units // parts, width // parts)
    return torch.stack([nn.init.xavier_uniform_(part) for part in empty])


def apart(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Multiply each part of x (b, P m) by its own part of a weight (P, n, m), (b, P n)."""
    parts = x.unflatten(1, (len(weight), -1)).transpose(0, 1)  # (P, b, m)
    return (parts @ weight.mT).transpose(0, 1).flatten(1)


def correlation(h: torch.Tensor) -> torch.Tensor:
    """Return |C| - |diag C| of C = h'h / b, a scalar; 0 where units are uncorrelated."""
    moments = h.T @ h / len(h)
    return moments.norm() - moments.diagonal().norm()
