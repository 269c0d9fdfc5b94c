"""JRL: row-sparse linear maps of both views into class space, tied on pairs (Zhai et al. 2014).

    min |XP - Y|^2 + |ZR - Y|^2 + pair_weight |XP - ZR|^2
        + graph_weight (tr P'X'Lx XP + tr R'Z'Lz ZR) + penalty (|P|_21 + |R|_21)

with Lx, Lz the normalised Laplacians of k-NN graphs over the training rows. The problem is convex;
P and R are learnt alternately. Retrieval is by the inner product of class posteriors, estimated
from the nearest training projections of both views.

Source: X. Zhai, Y. Peng, J. Xiao, Learning cross-media joint representation with sparse and
semi-supervised regularization, IEEE TCSVT 24(6), 2014; inductive: no test item is in a graph.
Cost: a copy of a view in float32 for the graph, n^2 (p + q) products for the exact neighbours;
about four (p + q)^2 matrices.
"""

import numpy as np
from pydantic import Field
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors

from crossmodal.data.split import Split, View
from crossmodal.learning.method import Direction, Run
from crossmodal.methods._linear.graph import smoothed_scatter
from crossmodal.methods._linear.group_sparse import (
    GroupSparseOptions,
    converged,
    reweighted_step,
    row_norms,
)
from crossmodal.methods._linear.inputs import Inputs, paired_inputs, paired_labels
from crossmodal.methods._linear.moments import Blocks, scatter
from crossmodal.methods._linear.projection import Projection
from crossmodal.plugin import Count, NotNegative

LABELS = "labels"


class JRL(Projection):
    """Inductive JRL on z-scores.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import JRL
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> jrl = JRL().fit(sepals, petals, species)
        >>> jrl.score(sepals, petals, species) > 0.4
        True
    """

    random = False
    scaling = "zscore"

    class Options(GroupSparseOptions):
        """Options of the objective."""

        graph_weight: NotNegative = Field(
            description="Weight of the smoothness over the graphs; at 0 no graph is computed."
        )
        pair_weight: NotNegative = Field(
            description="Weight of the distance between the projections of a pair."
        )
        neighbours: Count = Field(
            description="Number k of nearest neighbours, in the graphs and for the posteriors."
        )

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; the learning curve records the objective.

        Raises:
            CrossmodalError: If labels do not tell items apart.
        """
        labels = paired_labels(train)
        views = paired_inputs(train, self.scaling)
        moments = scatter(views | {LABELS: labels})
        maps = self._solve(views, moments, run)
        self.keep(views, maps)
        owners, _ = train.pairs()
        projections = [view.project(maps[m]) for m, view in views.items()]
        self.arrays["projections"] = np.concatenate(projections)
        self.arrays["labels"] = np.tile(train.labels[owners].astype(np.float32), (2, 1))

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return class posteriors (rows, C), which sum to 1 if each training item has one label."""
        projections, labels = self.arrays["projections"], self.arrays["labels"]
        neighbours = NearestNeighbors(n_neighbors=min(self.options.neighbours, len(labels)))
        distances, nearest = neighbours.fit(projections).kneighbors(super().embed(modality, view))
        affinities = expit(-distances)  # 1 / (1 + exp(distance))
        affinities /= affinities.sum(axis=1, keepdims=True)
        return np.stack([a @ labels[rows] for a, rows in zip(affinities, nearest, strict=True)])

    @staticmethod
    def score(queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return probabilities (q, g) of the same class."""
        return queries @ gallery.T

    def _solve(self, views: dict[str, Inputs], moments: Blocks, run: Run) -> dict[str, np.ndarray]:
        """Solve for P and R, alternately updated with the other one fixed."""
        grams = {m: self._gram(view, moments[m, m]) for m, view in views.items()}
        first, second = views
        maps = {
            m: reweighted_step(grams[m], moments[m, LABELS], self.options.penalty, None)
            for m in views
        }
        for iteration in range(self.options.iterations):
            for m, other in ((first, second), (second, first)):
                target = (
                    moments[m, LABELS] + self.options.pair_weight * moments[m, other] @ maps[other]
                )
                maps[m] = reweighted_step(grams[m], target, self.options.penalty, maps[m])
            objective = self._objective(maps, grams, moments)
            run.curve.append({"iteration": iteration, "objective": objective})
            if converged(run.curve, self.options.tolerance):
                break
        return maps

    def _objective(
        self, maps: dict[str, np.ndarray], grams: dict[str, np.ndarray], moments: Blocks
    ) -> float:
        """Return the objective, from second moments."""
        first, second = maps
        tied = np.sum(maps[first] * (moments[first, second] @ maps[second]))
        total = 2 * np.trace(moments[LABELS, LABELS]) - 2 * self.options.pair_weight * tied
        for m, matrix in maps.items():
            total += np.sum(matrix * (grams[m] @ matrix - 2 * moments[m, LABELS]))
            total += self.options.penalty * row_norms(matrix).sum()
        return total

    def _gram(self, view: Inputs, moments: np.ndarray) -> np.ndarray:
        """Return (1 + pair_weight) X'X + graph_weight X'L X, (d, d)."""
        gram = (1 + self.options.pair_weight) * moments
        if self.options.graph_weight:
            similar = smoothed_scatter(view, self.options.neighbours)
            gram += self.options.graph_weight * (moments - similar)
        return gram
