"""Learning of a bilinear score by plain stochastic gradient descent: no constraint on the rank.

The score of a query x and a document d is x' W d. Each list of triplets of one query adds
eta x q' to W, with q the sum of d+ - d- over the triplets that violate their margin.

Source: full-SGD of Wu, Wang, Huang, IEEE TMM 22(5), 2020, section IV-G.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from crossmodal.methods._online.compiled import compiled, project
from crossmodal.methods._online.learner import Learner
from crossmodal.methods._online.loop import Hyperparameters, ascend, respond


class Weights(NamedTuple):
    """W, which changes in place.

    Args:
        weights: W, (p, q).
    """

    weights: np.ndarray


@compiled
def gradient_step(weights: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """Add p q' to the weights (p, q)."""
    for i in range(len(p)):
        for j in range(len(q)):
            weights[i, j] += p[i] * q[j]


@overload(respond, inline="always")
def _respond(model, x):
    if model.instance_class is Weights:
        return lambda model, x: (project(model.weights, x), None)


@overload(ascend, inline="always")
def _ascend(model, step_size, x, ascent, image):
    if model.instance_class is not Weights:
        return None

    def step(model, step_size, x, ascent, image):
        x *= step_size
        gradient_step(model.weights, x, ascent)

    return step


class FullRank(Learner[Weights]):
    """Learns W itself.

    Args:
        weights: W, (p, q), changes in place.
        hyperparameters: Step size, list length and margin.
        rng: Draws the triplets.
    """

    def __init__(
        self, weights: np.ndarray, hyperparameters: Hyperparameters, rng: np.random.Generator
    ) -> None:
        super().__init__(Weights(weights), hyperparameters, rng)

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return W and the identity, in the order that makes them narrower."""
        p, q = self.model.weights.shape
        return (np.eye(p), self.model.weights.T) if p < q else (self.model.weights, np.eye(q))
