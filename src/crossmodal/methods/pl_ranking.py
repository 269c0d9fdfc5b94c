"""PL-ranking: low-rank maps learnt by a pairwise and a listwise ranking loss.

    s(x, z) = <U'x, V'z>
    L = sum over both directions of (pairwise + beta listwise) + lambda (|U|_* + |V|_*)
    pairwise = mean_i L(r_i) max(0, m - s(i, own) + s(i, n)),  L(r) = 1 + 1/2 + ... + 1/r
    listwise = mean |u - v|^2 of neighbours of the own class
               - eta mean min(|u - v|^2, tau) of neighbours of other classes

n is the first of the sampled items of other classes that violates the margin; the number of samples
that it took estimates its rank r_i.

Source: L. Zhang, B. Ma, G. Li, Q. Huang, Q. Tian, PL-ranking: a novel ranking method for
cross-modal retrieval, ACM MM 2016. The paper was not at hand: this is our reconstruction from its
abstract, with WARP (Weston, Bengio, Usunier, IJCAI 2011) as the loss that stresses the top.
"""

from collections.abc import Iterable
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import nn

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.method import Direction, Run
from crossmodal.methods._linear.singular_values import soft_threshold
from crossmodal.methods._online.preprocessing import Preprocessing, PreprocessingOptions
from crossmodal.nn.losses import total
from crossmodal.plugin import Count, NotNegative, Positive
from crossmodal.training.gradient import GradientMethod, shuffled_batches

STEPS_PER_THRESHOLD = 10


class PLRanking(GradientMethod[torch.Tensor]):
    """Two linear maps. Of an item's labels one is drawn; items without are left out.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import PLRanking
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> ranking = PLRanking(dims=2, epochs=2).fit(sepals, petals, species)
        >>> ranking.similarity(sepals, petals).shape
        (150, 150)
    """

    class Options(PreprocessingOptions):
        dims: Count = Field(description="Dimensions k of the shared space: columns of U and V.")
        margin: Positive = Field(0.5, description="Margin m of the pairwise loss.")
        tries: Count = Field(
            100, description="Maximum number of items of other classes that are sampled per query."
        )
        list_weight: NotNegative = Field(0.1, description="Weight beta of the listwise loss.")
        separation: NotNegative = Field(
            0.1, description="Weight eta of the distance to other classes in the listwise loss."
        )
        ceiling: Positive = Field(
            4.0,
            description="Squared distance tau beyond which items of other classes have zero "
            "gradient in the listwise loss.",
        )
        neighbours: Count = Field(
            5, description="Nearest items of the own class in the batch that are pulled together."
        )
        strangers: Count = Field(
            10, description="Nearest items of other classes in the batch that are pushed apart."
        )
        penalty: NotNegative = Field(0.001, description="Weight lambda of both nuclear norms.")
        learning_rate: Positive = Field(description="Learning rate of step 0.")
        decay_steps: Positive = Field(
            1000.0,
            description="T in steps: the learning rate of step t is learning_rate / (1 + t / T).",
        )
        batch: Annotated[int, Field(gt=1)] = Field(256, description="Pairs per step.")
        epochs: Count = Field(
            60,
            description="Passes over the training pairs; the epoch that is best on the validation "
            "split is kept.",
        )

    options: Options

    task = "category"
    network: nn.ModuleDict

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Train, and keep the epoch that does best on the validation split.

        The seed draws the label of items that have several.

        Raises:
            CrossmodalError: If labels do not tell items apart.
            DivergenceError: If the loss or a weight becomes NaN or infinite.
        """
        require_labels(train, negatives=True)
        chances = np.random.default_rng(run.seed).random(train.labels.shape) * train.labels
        self.classes = np.where(train.labels.any(axis=1), chances.argmax(axis=1), -1)
        self.preprocessing = {
            m: Preprocessing.fit(view.vectors(), self.options)
            for m, view in train.two_views().items()
        }
        super().fit(train, validation, run)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build one map per modality; entries from N(0, 1 / k)."""
        maps = nn.ModuleDict()
        for modality in views:
            width = self.preprocessing[modality].width
            layer = maps[modality] = nn.Linear(width, self.options.dims, bias=False)
            nn.init.normal_(layer.weight, std=self.options.dims**-0.5)
        return maps

    def optimizer(self) -> torch.optim.Optimizer:
        """Return subgradient steps, at intervals with a proximal step of the nuclear norm."""
        return NuclearSGD(
            self.network.parameters(), self.options.learning_rate, self.options.penalty
        )

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate, which decays with the number of steps."""
        return self.options.learning_rate / (1 + step / self.options.decay_steps)

    def place(self, train: Split) -> None:
        """Place scaled pairs of the labelled items, and their classes, on the device."""
        items, rows = train.pairs()
        labelled = self.classes[items] >= 0
        classes = self.classes[items[labelled]]
        self.inputs = {
            m: self._scaled(m, view.taken(rows[m][labelled]))
            for m, view in train.two_views().items()
        }
        sizes = np.bincount(classes)
        self.targets = torch.from_numpy(classes).to(device())  # (n,)
        self.strangers_of = torch.from_numpy(len(classes) - sizes[classes]).to(device())  # (n,)
        # a GPU's running sums of fractions are not repeatable
        fractions = 1 / np.arange(1, len(classes) + 1, dtype=np.float32)
        harmonic = np.append(0, np.cumsum(fractions, dtype=np.float64))
        self.weight_of_rank = torch.from_numpy(harmonic).float().to(device())

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[torch.Tensor]:
        """Return shuffled pairs."""
        for rows in shuffled_batches(len(self.targets), self.options.batch, rng, drop_last=False):
            yield to_device(rows)

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return pairwise and listwise loss of a batch of pairs (b,), both directions."""
        first, second = (self.network[m](x[batch]) for m, x in self.inputs.items())
        classes, strangers = self.targets[batch], self.strangers_of[batch]
        other = classes[:, None] != classes
        scores, distances = first @ second.T, torch.cdist(first, second).square()
        return total(
            self.pairwise(s, other, strangers) + self.options.list_weight * self.listwise(d, other)
            for s, d in ((scores, distances), (scores.T, distances.T))
        )

    def pairwise(
        self, scores: torch.Tensor, other: torch.Tensor, strangers: torch.Tensor
    ) -> torch.Tensor:
        """Return the mean weighted hinge of the first violating item of another class.

        Args:
            scores: Queries against documents, (b, b); pairs are on the diagonal.
            other: Which documents are of another class, (b, b).
            strangers: Number of training items of other classes than each query, (b,).
        """
        hinges = self.options.margin - scores.diagonal()[:, None] + scores
        order = torch.rand_like(scores).masked_fill(~other, 2).argsort(1)[:, : self.options.tries]
        violating = (other & (hinges.detach() > 0)).gather(1, order)
        exists = violating.any(1)
        first = violating.float().argmax(1)
        ranks = (strangers - 1).clamp(min=0) // (first + 1)
        chosen = hinges.gather(1, order.gather(1, first[:, None])).squeeze(1)
        return (self.weight_of_rank[ranks] * chosen * exists).mean()

    def listwise(self, distances: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Return distance to neighbours of the own class less that to neighbours of other classes.

        Args:
            distances: |u - v|^2, (b, b).
            other: Which documents are of another class, (b, b).
        """
        near = _nearest(distances, ~other, self.options.neighbours).mean()
        far = _nearest(distances, other, self.options.strangers).clamp(max=self.options.ceiling)
        return near - self.options.separation * (far.mean() if len(far) else 0)

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return mapped rows (n, k)."""
        yield self.network[modality](self._scaled(modality, view.vectors()))

    @staticmethod
    def score(queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return inner products (q, g)."""
        return queries @ gallery.T

    def state(self) -> dict[str, np.ndarray]:
        """Return both maps and the preprocessing."""
        statistics = {
            f"{m}.{n}": a for m, p in self.preprocessing.items() for n, a in p.state().items()
        }
        return super().state() | statistics

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Restore both."""
        maps = {name: array for name, array in state.items() if name.endswith(".weight")}
        self.preprocessing = {
            m: Preprocessing(
                self.options.scaling,
                {n.removeprefix(f"{m}."): a for n, a in state.items() if n.startswith(f"{m}.")},
            )
            for m in views
        }
        super().restore(maps, views)

    def _scaled(self, modality: str, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(self.preprocessing[modality].transform(rows)).to(device())


class NuclearSGD(torch.optim.SGD):
    """Gradient steps, and after every `STEPS_PER_THRESHOLD` the nuclear norm's step for them all.

    Args:
        params: Matrices.
        lr: Learning rate.
        penalty: Weight of the sum of their nuclear norms.
    """

    def __init__(self, params: Iterable[nn.Parameter], lr: float, penalty: float) -> None:
        super().__init__(params, lr)
        self.penalty = penalty
        self.register_step_post_hook(self._threshold)

    @torch.no_grad()
    def _threshold(self, *_: object) -> None:
        """Count a step, and take that of the nuclear norm where it is due."""
        for group in self.param_groups:
            threshold = group["lr"] * self.penalty * STEPS_PER_THRESHOLD
            for matrix in group["params"]:
                state = self.state[matrix]
                state["step"] = state.get("step", torch.zeros(())) + 1
                due = self.penalty and state["step"] % STEPS_PER_THRESHOLD == 0
                if due and matrix.isfinite().all():  # else it has no singular values
                    matrix.copy_(soft_threshold(matrix, threshold))


def _nearest(distances: torch.Tensor, wanted: torch.Tensor, count: int) -> torch.Tensor:
    """Return distances of the `count` nearest wanted documents of each query, in one row."""
    masked = distances.masked_fill(~wanted, torch.inf)
    nearest = masked.topk(min(count, len(distances)), largest=False).values
    return nearest[nearest.isfinite()]
