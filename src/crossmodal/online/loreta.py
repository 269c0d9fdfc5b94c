"""Learning of a low-rank bilinear score by steps on the manifold of matrices of rank k.

The score of a query x and a document d is x' W d with W = A B'. A list of triplets of one query has
the rank-one ascent direction p q' with p = eta x and q the sum of d+ - d- over the triplets that
violate their margin. LORETA-1 moves W along it by a second-order retraction in O((p + q) k):

    a = A+ p, b = B+ q, s = b' a
    A <- A + (A a (-1/2 + 3/8 s) + p (1 - s / 2)) b'
    B <- B + (B b (-1/2 + 3/8 s) + q (1 - s / 2)) a'

A+ and B+ are pseudo-inverses and follow by rank-one updates.

Source: Shalit, Weinshall, Chechik, Online learning in the embedded manifold of low-rank matrices,
JMLR 13, 2012, algorithm 2; Meyer, Generalized inversion of modified matrices, SIAM J. Appl. Math.
24(3), 1973; the triplets are those of Wu, Wang, Huang, IEEE TMM 22(5), 2020, algorithm 3.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.online.compiled import compiled, dot
from crossmodal.online.hinge import Margin, list_hinge
from crossmodal.online.triplets import Sampler, draw_list

LISTS_PER_BLOCK = 1000


class Factors(NamedTuple):
    """W = A B' with the pseudo-inverses of its factors; all change in place.

    Args:
        query: A, (p, k).
        document: B, (q, k).
        query_inverse: Pseudo-inverse of A, transposed, (p, k).
        document_inverse: Pseudo-inverse of B, transposed, (q, k).
    """

    query: np.ndarray
    document: np.ndarray
    query_inverse: np.ndarray
    document_inverse: np.ndarray


@compiled
def _expand(factor: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Product (d,) of a factor (d, k) with a k-vector."""
    result = np.empty(len(factor), factor.dtype)
    for i in range(len(factor)):
        result[i] = dot(factor[i], coordinates)
    return result


@compiled
def _project(factor: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Product (k,) of a transposed factor (d, k) with a d-vector."""
    result = np.zeros(factor.shape[1], factor.dtype)
    for i in range(len(factor)):
        for j in range(len(result)):
            result[j] += factor[i, j] * vector[i]
    return result


@compiled
def add_rank_one(
    factor: np.ndarray, inverse: np.ndarray, column: np.ndarray, row: np.ndarray
) -> None:
    """Add `column row'` to a factor of full column rank, and follow with its pseudo-inverse.

    Meyer's two cases in one expression, which stays exact where 1 + row' factor+ column is near 0.
    The results are not finite if the sum loses rank.

    Args:
        factor: (d, k), changes in place.
        inverse: Its pseudo-inverse, transposed, (d, k), changes in place.
        column: (d,).
        row: (k,).
    """
    inside = _project(inverse, column)
    normal = _expand(inverse, row)
    outside = column - _expand(factor, inside)
    back = _project(inverse, normal)
    outside_square, normal_square = dot(outside, outside), dot(normal, normal)
    pivot = 1 + dot(row, inside)
    divisor = outside_square * normal_square + pivot * pivot
    along_outside, along_normal = np.empty_like(row), np.empty_like(row)
    for j in range(len(row)):
        along_outside[j] = (pivot * back[j] - normal_square * inside[j]) / divisor
        along_normal[j] = -(outside_square * back[j] + pivot * inside[j]) / divisor
    for i in range(len(factor)):
        for j in range(len(row)):
            factor[i, j] += column[i] * row[j]
            inverse[i, j] += outside[i] * along_outside[j] + normal[i] * along_normal[j]


@compiled
def _retracted(image: np.ndarray, vector: np.ndarray, overlap: float) -> np.ndarray:
    """The step's column (d,) for a factor, from the vector and its projection on the factor."""
    result = np.empty_like(vector)
    for i in range(len(vector)):
        result[i] = image[i] * (0.375 * overlap - 0.5) + vector[i] * (1 - 0.5 * overlap)
    return result


@compiled
def loreta_step(factors: Factors, p: np.ndarray, q: np.ndarray) -> None:
    """Move W along p q' on the manifold of its rank.

    Args:
        factors: Change in place.
        p: Query side of the ascent direction, times the step size, (p,).
        q: Document side of the ascent direction, (q,).
    """
    a = _project(factors.query_inverse, p)
    b = _project(factors.document_inverse, q)
    overlap = dot(a, b)
    p_column = _retracted(_expand(factors.query, a), p, overlap)
    q_column = _retracted(_expand(factors.document, b), q, overlap)
    add_rank_one(factors.query, factors.query_inverse, p_column, b)
    add_rank_one(factors.document, factors.document_inverse, q_column, a)


class Options(NamedTuple):
    """Options of learning.

    Args:
        rank: k, at most the smaller number of dimensions.
        step_size: eta > 0.
        triplets_per_query: J >= 1, the length of a list.
        margin: Options of the margin.
    """

    rank: int
    step_size: float
    triplets_per_query: int
    margin: Margin


@compiled
def _learn(
    factors: Factors,
    queries: np.ndarray,
    documents: np.ndarray,
    sampler: Sampler,
    rng: np.random.Generator,
    steps: tuple[int, int],
    options: Options,
) -> tuple[float, int, int]:
    """Draw lists number `steps[0]` to `steps[1]` and learn from them.

    Returns:
        Sum of the losses, number of violating and of all triplets.
    """
    loss, violating, seen = 0.0, 0, 0
    pairs = np.empty((options.triplets_per_query, 2), np.int64)
    p, q = np.empty_like(factors.query[:, 0]), np.empty_like(factors.document[:, 0])
    for step in range(steps[0], steps[1]):
        query, found = draw_list(sampler, step, rng, pairs)
        towards = _expand(factors.document, _project(factors.query, queries[query]))  # W' x, (q,)
        losses, violations = list_hinge(
            towards, documents, sampler.document_labels, pairs[:found], options.margin, q
        )
        if violations > 0:
            p[:] = options.step_size * queries[query]
            loreta_step(factors, p, q)
        loss, violating, seen = loss + losses, violating + violations, seen + found
    return loss, violating, seen


@dataclass
class Learner:
    """One direction's model, its stream of triplets and how far it has come.

    Learning can go on at any time, and takes the same course whether it is interrupted or not.

    Args:
        queries: Features, (n, p); their precision may differ from that of the factors.
        documents: Features, (m, q).
        sampler: Draws the triplets.
        options: Options of learning.
        factors: The model.
        rng: State of the stream.
        lists: Lists that were learnt.
    """

    queries: np.ndarray
    documents: np.ndarray
    sampler: Sampler
    options: Options
    factors: Factors
    rng: np.random.Generator
    lists: int = 0

    @classmethod
    def start(
        cls,
        queries: np.ndarray,
        documents: np.ndarray,
        sampler: Sampler,
        options: Options,
        rng: np.random.Generator,
        precision: type[np.floating],
    ) -> "Learner":
        """A model whose factors are drawn from N(0, 1).

        Args as those of the class, and the `precision` of the factors: float32 or float64.

        Raises:
            CrossmodalError: If the rank is more than the features' dimensions.
        """
        widths = queries.shape[1], documents.shape[1]
        if options.rank > min(widths):
            raise CrossmodalError(
                f"rank {options.rank} is more than the features allow: queries have {widths[0]} "
                f"dimensions, documents {widths[1]}; choose rank <= {min(widths)}"
            )
        query, document = (
            rng.standard_normal((width, options.rank)).astype(precision) for width in widths
        )
        factors = Factors(query, document, np.empty_like(query), np.empty_like(document))
        return cls(queries, documents, sampler, options, factors, rng)

    def advance(self, lists: int) -> tuple[float, float]:
        """Learn from so many further lists.

        Returns:
            Mean loss of their triplets, and the share of triplets that violated their margin.

        Raises:
            CrossmodalError: If the factors diverged.
        """
        totals = np.zeros(3)  # loss, violating triplets, all triplets
        end = self.lists + lists
        while self.lists < end:
            into_block = self.lists % LISTS_PER_BLOCK
            if into_block == 0:
                self._renew_inverses()
            stop = min(end, self.lists - into_block + LISTS_PER_BLOCK)
            totals += self._learn(stop)
            self.lists = stop
            self._check()
        loss, violating = totals[:2] / max(totals[2], 1)  # a list may find no triplet
        return float(loss), float(violating)

    def _learn(self, stop: int) -> tuple[float, int, int]:
        return _learn(
            self.factors,
            self.queries,
            self.documents,
            self.sampler,
            self.rng,
            (self.lists, stop),
            self.options,
        )

    def _renew_inverses(self) -> None:
        """Start a block with exact inverses, so that rounding does not add up."""
        factors = self.factors
        factors.query_inverse[:] = np.linalg.pinv(factors.query.astype(float)).T
        factors.document_inverse[:] = np.linalg.pinv(factors.document.astype(float)).T

    def _check(self) -> None:
        if not all(np.isfinite(array).all() for array in self.factors):
            raise CrossmodalError(
                f"step_size {self.options.step_size}: the factors are no longer finite after "
                f"{self.lists} lists of triplets; lower step_size"
            )
