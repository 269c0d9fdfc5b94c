"""Learning of a bilinear score by plain stochastic gradient descent: no constraint on the rank.

The score of a query x and a document d is x' W d. Each list of triplets of one query adds
eta x q' to W, with q the sum of d+ - d- over the triplets that violate their margin.

Source: full-SGD of Wu, Wang, Huang, IEEE TMM 22(5), 2020, section IV-G.
"""

import numpy as np

from crossmodal.online.compiled import compiled, project
from crossmodal.online.hinge import list_hinge
from crossmodal.online.learner import Batch, Learner, Options
from crossmodal.online.triplets import draw_list


@compiled
def gradient_step(weights: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """Add p q' to the weights (p, q)."""
    for i in range(len(p)):
        for j in range(len(q)):
            weights[i, j] += p[i] * q[j]


@compiled
def _learn(
    weights: np.ndarray,
    batch: Batch,
    rng: np.random.Generator,
    steps: tuple[int, int],
    options: Options,
) -> tuple[float, int, int]:
    """See `Learner.learn`."""
    loss, violating, seen = 0.0, 0, 0
    pairs = np.empty((options.triplets_per_query, 2), np.int64)
    p, q = np.empty_like(weights[:, 0]), np.empty_like(weights[0])
    for step in range(steps[0], steps[1]):
        query, found = draw_list(batch.sampler, step, rng, pairs)
        p[:] = batch.queries[query]
        towards = project(weights, p)  # W' x, (q,)
        losses, violations = list_hinge(
            towards,
            batch.documents,
            batch.sampler.document_labels,
            pairs[:found],
            options.margin,
            q,
        )
        if violations > 0:
            p *= options.step_size
            gradient_step(weights, p, q)
        loss, violating, seen = loss + losses, violating + violations, seen + found
    return loss, violating, seen


class FullRank(Learner):
    """Learns W as it is.

    Args:
        weights: W, (p, q), changes in place.
        options: Options of learning.
        rng: Draws the triplets.
    """

    def __init__(self, weights: np.ndarray, options: Options, rng: np.random.Generator) -> None:
        super().__init__(options, rng)
        self.weights = weights

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """W."""
        return {"weights": self.weights}

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """W and the identity, in the order that makes them narrower."""
        p, q = self.weights.shape
        return (np.eye(p), self.weights.T) if p < q else (self.weights, np.eye(q))

    def learn(self, batch: Batch, steps: tuple[int, int]) -> tuple[float, int, int]:
        """See the base class."""
        return _learn(self.weights, batch, self.rng, steps, self.options)
