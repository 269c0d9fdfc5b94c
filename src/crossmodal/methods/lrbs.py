"""LRBS: a bilinear score with a nuclear-norm penalty, from all similar and dissimilar pairs.

    min_M  sum_ij w_ij log(1 + exp(-y_ij x_i' M z_j)) + lambda |M|_*

y_ij is +1 if items i and j share a label, else -1; w_ij gives both kinds half of the weight each.

Source: C. Kang, S. Liao, Y. He, J. Wang, W. Niu, S. Xiang, C. Pan, Cross-modal similarity learning:
a low rank bilinear formulation, CIKM 2015. Its loss was not at hand: the balanced logistic loss is
our reconstruction; the penalty and the accelerated proximal gradient are the paper's. Cost: each
iteration passes two or more times over all n^2 pairs in blocks of bounded size, with 2 n^2 q
operations for the gradient with q-dimensional texts, and 2 n^2 r for the scores of an M of rank r;
where n is too large, `sample` bounds it.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from pydantic import Field
from torch.nn.functional import softplus

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split, View
from crossmodal.device import device
from crossmodal.io.files import JsonObject
from crossmodal.io.progress import track
from crossmodal.io.snapshots import Snapshot, State
from crossmodal.learning.method import Direction, Method, Run
from crossmodal.methods._linear.singular_values import soft_threshold_factors
from crossmodal.methods._online.preprocessing import Preprocessing, PreprocessingOptions
from crossmodal.plugin import Count, NotNegative, Positive

Side = tuple[torch.Tensor, torch.Tensor]  # rows (n, d) and labels (n, C) of one view
Factors = tuple[torch.Tensor, torch.Tensor]  # (p, r) and (q, r); M is their product, of rank r
SCALARS = ("momentum", "lipschitz", "objective")  # of a descent
PAIRS_PER_BLOCK = {"cpu": 2**19, "cuda": 2**26}  # what caches hold, or what keeps a GPU busy


class LRBS(Method):
    """One matrix M for both directions, by accelerated proximal gradient from M = 0.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import LRBS
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> lrbs = LRBS(iterations=2).fit(sepals, petals, species)
        >>> lrbs.similarity(sepals, petals).shape
        (150, 150)
    """

    class Options(PreprocessingOptions):
        penalty: Positive = Field(
            description="Weight lambda of the nuclear norm, in units of the smallest one for which "
            "M is zero."
        )
        iterations: Count = Field(200, description="Maximum number of iterations.")
        tolerance: NotNegative = Field(
            0.00001,
            description="Stop when the relative change of the objective over all pairs is at most "
            "this; without effect if `sample` is set.",
        )
        sample: Count | None = Field(
            None,
            description="Items of each view, drawn again for each iteration, whose pairs it "
            "descends on: our approximation for many items. null: all.",
        )

    options: Options

    task = "category"
    gpu = True

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.random = self.options.sample is not None

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn M; items without a label take no part.

        Raises:
            CrossmodalError: If labels do not tell items apart.
        """
        require_labels(train, negatives=True)
        self.arrays = {}
        sides = [self._side(modality, train) for modality in train.two_views()]
        for modality, factor in zip(train.views, self._solve(sides, run), strict=True):
            self.arrays[f"{modality}.factor"] = factor.float().cpu().numpy()

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return rows times the modality's factor of M, (rows, rank of M)."""
        arrays = {
            name.removeprefix(f"{modality}."): array
            for name, array in self.arrays.items()
            if name.startswith(f"{modality}.")
        }
        rows = Preprocessing(self.options.scaling, arrays).transform(view.vectors())
        return rows @ arrays["factor"]

    @staticmethod
    def score(queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return bilinear scores x' M z (q, g)."""
        return queries @ gallery.T

    def _side(self, modality: str, train: Split) -> Side:
        """Return scaled rows (n, d) and labels (n, C) of the labelled items, on the device."""
        view = train.views[modality]
        preprocessing = Preprocessing.fit(view.vectors(), self.options)
        self.arrays |= {f"{modality}.{name}": v for name, v in preprocessing.state().items()}
        labels = train.labels[view.items]
        labelled = labels.any(axis=1)
        rows = preprocessing.transform(view.vectors()[labelled])
        return (
            torch.from_numpy(rows).double().to(device()),
            torch.from_numpy(labels[labelled]).float().to(device()),
        )

    def _relations(self, sides: list[Side], seed: int, iteration: int) -> "Relations":
        """Return the relations of all items, or of an iteration's sample."""
        if self.options.sample is None:
            return Relations(*sides)
        rng = np.random.default_rng([seed, iteration])
        drawn = [rng.permutation(len(rows))[: self.options.sample] for rows, _ in sides]
        return Relations(*((x[d], y[d]) for d, (x, y) in zip(drawn, sides, strict=True)))

    def _solve(self, sides: list[Side], run: Run) -> Factors:
        """Solve for M; the learning curve has the objective after each iteration."""
        relations = self._relations(sides, run.seed, 0)
        steepest = float(torch.linalg.matrix_norm(relations.gradient(relations.zero)[1], 2))
        descent = Descent(relations, self.options.penalty * steepest)
        snapshot = Snapshot(run.checkpoints)
        if saved := snapshot.load():
            descent.take_over(*saved)
            run.curve[:] = saved[1]["curve"]
        done, iterations = len(run.curve), self.options.iterations
        for iteration in track(range(done, iterations), iterations, run.label, done):
            if self.options.sample is not None:
                descent.relations = self._relations(sides, run.seed, iteration)
            before = descent.objective
            objective = descent.step()
            run.curve.append({"iteration": iteration, "loss": objective})
            settled = abs(before - objective) <= self.options.tolerance * abs(objective)
            if settled and self.options.sample is None:
                break
            snapshot.save_if_due(lambda: descent.state({"curve": run.curve}))
        return descent.factors


class Relations:
    """The smooth part of the objective over all pairs of rows of two views.

    Args:
        first: Rows (n, p) and labels (n, C) of the first view.
        second: The same of the second view, (m, q) and (m, C).
    """

    def __init__(self, first: Side, second: Side) -> None:
        (self.rows, self.labels), (self.others, self.other_labels) = first, second
        self.size = max(1, PAIRS_PER_BLOCK[self.rows.device.type] // len(self.others))
        similar = sum(int(shared.sum()) for _, shared in self._blocks())
        dissimilar = len(self.rows) * len(self.others) - similar
        # one kind may be absent
        self.weights = [0.5 / max(count, 1) for count in (similar, dissimilar)]

    @property
    def zero(self) -> Factors:
        """Return M = 0, of rank 0."""
        rows, others = self.rows, self.others
        return rows.new_zeros(rows.shape[1], 0), others.new_zeros(others.shape[1], 0)

    def loss(self, factors: Factors) -> float:
        """Return the loss at M."""
        return sum(float((w * softplus(against)).sum()) for *_, w, against in self._terms(factors))

    def gradient(self, factors: Factors) -> tuple[float, torch.Tensor]:
        """Return the loss and its gradient (p, q) at M."""
        loss, gradient = 0.0, self.rows.new_zeros(self.rows.shape[1], self.others.shape[1])
        for rows, shared, weights, against in self._terms(factors):
            loss += float((weights * softplus(against)).sum())
            slopes = weights * torch.sigmoid(against)
            gradient += rows.T @ (torch.where(shared, -slopes, slopes) @ self.others)
        return loss, gradient

    def _terms(self, factors: Factors) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yield per block: rows; which pairs are similar, their weights and -y_ij x_i' M z_j."""
        left, right = factors
        others = self.others @ right  # (m, r)
        for rows, shared in self._blocks():
            scores = rows @ left @ others.T  # (block, m)
            weights = torch.where(shared, self.weights[0], self.weights[1]).to(scores)
            yield rows, shared, weights, torch.where(shared, -scores, scores)

    def _blocks(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield blocks of rows, (block, p), and which of the others are similar, (block, m)."""
        for rows, labels in zip(
            self.rows.split(self.size), self.labels.split(self.size), strict=True
        ):
            yield rows, labels @ self.other_labels.T > 0


class Descent:
    """Accelerated proximal gradient from M = 0; momentum restarts where it overshoots.

    The step size is chosen by backtracking.

    Args:
        relations: The smooth part.
        penalty: lambda.
    """

    def __init__(self, relations: Relations, penalty: float) -> None:
        self.relations, self.penalty = relations, penalty
        self.factors = self.before = relations.zero
        self.momentum = 1.0
        norms = [float(torch.linalg.matrix_norm(x, 2)) for x in (relations.rows, relations.others)]
        # a fiftieth of the bound, which backtracking corrects
        self.lipschitz = 0.25 * (norms[0] * norms[1]) ** 2 * max(relations.weights) / 50
        self.objective = math.inf

    def step(self) -> float:
        """Take one iteration; return the objective that it reaches."""
        momentum = (1 + math.sqrt(1 + 4 * self.momentum**2)) / 2
        ahead = self._ahead((self.momentum - 1) / momentum)
        factors, objective = self._descend(ahead)
        if objective > self.objective:
            momentum = 1.0
            factors, objective = self._descend(self.factors)
        self.before, self.factors = self.factors, factors
        self.momentum, self.objective = momentum, objective
        return objective

    def state(self, facts: JsonObject) -> State:
        """Return the state of the iteration, besides other facts."""
        factors = {"factor": self.factors, "before": self.before}
        arrays = {
            f"{n}.{i}": x.cpu().numpy() for n, pair in factors.items() for i, x in enumerate(pair)
        }
        return arrays, facts | {name: getattr(self, name) for name in SCALARS}

    def take_over(self, arrays: dict[str, np.ndarray], facts: JsonObject) -> None:
        """Resume from a snapshot."""
        like = self.factors[0]
        tensors = {name: torch.from_numpy(array).to(like) for name, array in arrays.items()}
        self.factors = tensors["factor.0"], tensors["factor.1"]
        self.before = tensors["before.0"], tensors["before.1"]
        for name in SCALARS:
            setattr(self, name, facts[name])

    def _ahead(self, weight: float) -> Factors:
        """Return M + weight (M - M before), of at most both ranks together."""
        (left, right), (left_before, right_before) = self.factors, self.before
        return (
            torch.cat([(1 + weight) * left, -weight * left_before], 1),
            torch.cat([right, right_before], 1),
        )

    def _descend(self, start: Factors) -> tuple[Factors, float]:
        """Take a proximal step from `start`; return its end and the objective there."""
        loss, gradient = self.relations.gradient(start)
        matrix = start[0] @ start[1].T
        while True:
            factors = soft_threshold_factors(
                matrix - gradient / self.lipschitz, self.penalty / self.lipschitz
            )
            change = factors[0] @ factors[1].T - matrix
            bound = loss + float((gradient * change).sum() + self.lipschitz / 2 * (change**2).sum())
            reached = self.relations.loss(factors)
            if reached <= bound + 1e-12 * abs(bound):  # rounding
                return factors, reached + self.penalty * float(factors[0].square().sum())
            self.lipschitz *= 2
