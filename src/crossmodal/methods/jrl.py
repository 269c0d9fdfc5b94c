"""JRL: row-sparse linear maps of both views into class space, tied on pairs (Zhai et al. 2014).

    min |XP - Y|^2 + |ZR - Y|^2 + pair_weight |XP - ZR|^2
        + graph_weight (tr P'X'Lx XP + tr R'Z'Lz ZR) + penalty (|P|_21 + |R|_21)

with Lx, Lz the normalised Laplacians of k-NN graphs over the training rows. The problem is convex;
P and R are learnt in turn. Retrieval compares class posteriors, estimated from the nearest training
projections of both views, by their inner product.

Source: X. Zhai, Y. Peng, J. Xiao, Learning cross-media joint representation with sparse and
semi-supervised regularization, IEEE TCSVT 24(6), 2014; inductive: test items are in no graph.
Cost: three copies of a view in float64 for the graph (4 GB at 41,000 x 4,096), n^2 (p + q) products
for the exact neighbours; without a graph about four (p + q)^2 matrices. At 40,000 pairs of 4,096 +
1,000 columns with a graph, 4.4 GB with the features and 9 minutes of one core.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors

from crossmodal.data import Split, View
from crossmodal.linear.graph import normalised_adjacency
from crossmodal.linear.group_sparse import reweighted_step, row_norms, settled
from crossmodal.linear.inputs import Inputs, paired_inputs, paired_labels
from crossmodal.linear.moments import Blocks, scatter
from crossmodal.linear.projection import Projection
from crossmodal.methods.base import Direction, Run

LABELS = "labels"


class JRL(Projection):
    """Inductive JRL on z-scores.

    Args:
        penalty: gamma, of |P|_21 and |R|_21; grows with the number of pairs.
        graph_weight: sigma, of the smoothness; 0 makes no graph.
        pair_weight: lambda, of the distance between the projections of a pair.
        neighbours: k, of the graphs and of the posteriors.
        iterations: At most.
        tolerance: Stop when the objective falls by less than this share.
    """

    input_norm = "zscore"

    def __init__(
        self,
        penalty: Annotated[float, Field(gt=0)],
        graph_weight: Annotated[float, Field(ge=0)],
        pair_weight: Annotated[float, Field(ge=0)],
        neighbours: Annotated[int, Field(gt=0)],
        iterations: Annotated[int, Field(gt=0)],
        tolerance: Annotated[float, Field(ge=0)],
    ) -> None:
        self.penalty = penalty
        self.graph_weight = graph_weight
        self.pair_weight = pair_weight
        self.neighbours = neighbours
        self.iterations = iterations
        self.tolerance = tolerance

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; nothing is random. The learning curve has the objective.

        Raises:
            CrossmodalError: If no item has a label.
        """
        labels = paired_labels(train)
        views = paired_inputs(train, self.input_norm)
        moments = scatter(views | {LABELS: labels})
        maps = self._solve(views, moments, run)
        self.keep(views, maps)
        owners, _ = train.pairs()
        projections = [view.project(maps[m]) for m, view in views.items()]
        self.arrays["projections"] = np.concatenate(projections)
        self.arrays["labels"] = np.tile(train.labels[owners].astype(np.float32), (2, 1))

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Class posteriors (rows, C), with one label per training item."""
        projections, labels = self.arrays["projections"], self.arrays["labels"]
        neighbours = NearestNeighbors(n_neighbors=min(self.neighbours, len(labels)))
        distances, nearest = neighbours.fit(projections).kneighbors(super().embed(modality, view))
        affinities = expit(-distances)  # 1 / (1 + exp(distance))
        affinities /= affinities.sum(axis=1, keepdims=True)
        return np.stack([a @ labels[rows] for a, rows in zip(affinities, nearest, strict=True)])

    @staticmethod
    def score(queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Probability (q, g) of the same class."""
        return queries @ gallery.T

    def _solve(self, views: dict[str, Inputs], moments: Blocks, run: Run) -> dict[str, np.ndarray]:
        """P and R, each the minimiser for the other one, in turn."""
        grams = {m: self._gram(view, moments[m, m]) for m, view in views.items()}
        first, second = views
        maps = {m: reweighted_step(grams[m], moments[m, LABELS], self.penalty, None) for m in views}
        for iteration in range(self.iterations):
            for m, other in ((first, second), (second, first)):
                target = moments[m, LABELS] + self.pair_weight * moments[m, other] @ maps[other]
                maps[m] = reweighted_step(grams[m], target, self.penalty, maps[m])
            objective = self._objective(maps, grams, moments)
            run.curve.append({"iteration": iteration, "objective": objective})
            if settled(run.curve, self.tolerance):
                break
        return maps

    def _objective(
        self, maps: dict[str, np.ndarray], grams: dict[str, np.ndarray], moments: Blocks
    ) -> float:
        """The whole objective, from second moments."""
        first, second = maps
        tied = np.sum(maps[first] * (moments[first, second] @ maps[second]))
        total = 2 * np.trace(moments[LABELS, LABELS]) - 2 * self.pair_weight * tied
        for m, matrix in maps.items():
            total += np.sum(matrix * (grams[m] @ matrix - 2 * moments[m, LABELS]))
            total += self.penalty * row_norms(matrix).sum()
        return total

    def _gram(self, view: Inputs, moments: np.ndarray) -> np.ndarray:
        """(1 + pair_weight) X'X + graph_weight X'L X, (d, d)."""
        gram = (1 + self.pair_weight) * moments
        if self.graph_weight:
            rows = view[:]
            smoothed = rows.T @ (normalised_adjacency(rows, self.neighbours) @ rows)
            gram += self.graph_weight * (moments - smoothed)
        return gram
