"""Learning of a low-rank bilinear score by steps on the manifold of matrices of rank k.

The score of a query x and a document d is x' W d with W = A B'. A list of triplets of one query has
the rank-one ascent direction p q' with p = eta x and q the sum of d+ - d- over the triplets that
violate their margin. LORETA-1 moves W along it by a second-order retraction in O((p + q) k):

    a = A+ p, b = B+ q, s = b' a
    A <- A + (A a (-1/2 + 3/8 s) + p (1 - s / 2)) b'
    B <- B + (B b (-1/2 + 3/8 s) + q (1 - s / 2)) a'

The pseudo-inverses are A+ = (A'A)^-1 A' and (B'B)^-1 B'; the k x k inverses follow by updates of
rank two. The step of W is the same for A R and B R^-T with any R, so that the factors can be
balanced at any time: A'A = B'B, diagonal.

Source: Shalit, Weinshall, Chechik, Online learning in the embedded manifold of low-rank matrices,
JMLR 13, 2012, algorithm 2; the triplets are those of Wu, Wang, Huang, IEEE TMM 22(5), 2020,
algorithm 3.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from crossmodal.errors import CrossmodalError
from crossmodal.methods._online.compiled import compiled, dot, expand, project
from crossmodal.methods._online.learner import Learner
from crossmodal.methods._online.loop import Hyperparameters, ascend, respond


class Factors(NamedTuple):
    """W = A B' with the inverses of its factors' Gram matrices; all change in place.

    Args:
        query: A, (p, k).
        document: B, (q, k).
        query_inverse: (A'A)^-1, (k, k) float64.
        document_inverse: (B'B)^-1, (k, k) float64.
    """

    query: np.ndarray
    document: np.ndarray
    query_inverse: np.ndarray
    document_inverse: np.ndarray


@compiled
def update_inverse(inverse: np.ndarray, along: np.ndarray, row: np.ndarray, outside: float) -> None:
    """Follow the addition of `column row'` to a factor A.

    The result is not finite if the sum loses rank.

    Args:
        inverse: (A'A)^-1, (k, k), changes in place.
        along: A+ column, (k,).
        row: (k,).
        outside: Squared length of the part of `column` outside of the range of A.
    """
    normal = project(inverse, row)  # the matrix is symmetric
    length, pivot = dot(row, normal), 1 + dot(row, along)
    divisor = outside * length + pivot * pivot
    for i in range(len(row)):
        # one expression for Meyer's (1973) cases, exact where the pivot is near 0
        first = (length * along[i] - pivot * normal[i]) / divisor
        second = -(pivot * along[i] + outside * normal[i]) / divisor
        for j in range(len(row)):
            inverse[i, j] += first * along[j] + second * normal[j]


@compiled
def _move(
    factor: np.ndarray, image: np.ndarray, vector: np.ndarray, overlap: float, row: np.ndarray
) -> None:
    """Add the step's column times `row` to a factor, row by row of the factor."""
    inner, outer = 0.375 * overlap - 0.5, 1 - 0.5 * overlap
    image = (inner * image).astype(factor.dtype)
    row = row.astype(factor.dtype)
    for i in range(len(factor)):
        column = dot(factor[i], image) + factor.dtype.type(outer * vector[i])
        for j in range(len(row)):
            factor[i, j] += column * row[j]


@compiled
def loreta_step(factors: Factors, p: np.ndarray, q: np.ndarray, along: np.ndarray) -> None:
    """Move W along p q' on the manifold of its rank.

    Args:
        factors: Change in place.
        p: Query side of the ascent direction, times the step size, (p,).
        q: Document side of the ascent direction, (q,).
        along: A' p, (k,).
    """
    p_inside = along.astype(np.float64)
    q_inside = project(factors.document, q).astype(np.float64)
    a = project(factors.query_inverse, p_inside)
    b = project(factors.document_inverse, q_inside)
    overlap = dot(a, b)
    inner, outer = 0.375 * overlap - 0.5, 1 - 0.5 * overlap
    p_outside = outer * outer * max(dot(p, p) - dot(a, p_inside), 0.0)
    q_outside = outer * outer * max(dot(q, q) - dot(b, q_inside), 0.0)
    update_inverse(factors.query_inverse, (inner + outer) * a, b, p_outside)
    update_inverse(factors.document_inverse, (inner + outer) * b, a, q_outside)
    _move(factors.query, a, p, overlap, b)
    _move(factors.document, b, q, overlap, a)


@overload(respond, inline="always")
def _respond(model, x):
    if model.instance_class is not Factors:
        return None

    def images(model, x):
        along = project(model.query, x)
        return expand(model.document, along), along

    return images


@overload(ascend, inline="always")
def _ascend(model, step_size, x, ascent, image):
    if model.instance_class is not Factors:
        return None

    def step(model, step_size, x, ascent, image):
        x *= step_size
        image *= step_size
        loreta_step(model, x, ascent, image)

    return step


class LowRank(Learner[Factors]):
    """Learns W = A B' of a fixed rank.

    Args:
        query: A, (p, k); its precision is that of the model.
        document: B, (q, k).
        hyperparameters: Step size, list length and margin.
        rng: Draws the triplets.
    """

    def __init__(
        self,
        query: np.ndarray,
        document: np.ndarray,
        hyperparameters: Hyperparameters,
        rng: np.random.Generator,
    ) -> None:
        rank = query.shape[1]
        model = Factors(query, document, np.empty((rank, rank)), np.empty((rank, rank)))
        super().__init__(model, hyperparameters, rng)
        self.begin_block()

    @classmethod
    def start(
        cls,
        widths: tuple[int, int],
        rank: int,
        hyperparameters: Hyperparameters,
        rng: np.random.Generator,
        precision: type[np.floating] = np.float64,
    ) -> "LowRank":
        """Make a model whose factors are drawn from N(0, 1).

        Args:
            widths: Dimensions of queries and documents.
            rank: k.
            hyperparameters: Step size, list length and margin.
            rng: Draws the factors, then the triplets.
            precision: float32 or float64.

        Raises:
            CrossmodalError: If the rank is more than the dimensions.
        """
        if rank > min(widths):
            raise CrossmodalError(
                f"rank {rank} is more than the features allow: queries have {widths[0]} "
                f"dimensions, documents {widths[1]}; choose rank <= {min(widths)}"
            )
        query, document = (rng.standard_normal((width, rank)) for width in widths)
        return cls(query.astype(precision), document.astype(precision), hyperparameters, rng)

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B."""
        return self.model.query, self.model.document

    def begin_block(self) -> None:
        """Balance the factors and recompute the inverses."""
        query, first = np.linalg.qr(self.model.query.astype(float))
        document, second = np.linalg.qr(self.model.document.astype(float))
        left, values, right = np.linalg.svd(first @ second.T)
        self.model.query[:] = query @ (left * np.sqrt(values))
        self.model.document[:] = document @ (right.T * np.sqrt(values))
        for factor, inverse in zip(self.model[:2], self.model[2:], strict=True):
            inverse[:] = np.linalg.inv(factor.astype(float).T @ factor)
