"""The loop over lists of triplets that all models share.

A model is a named tuple of arrays, the first with one row per dimension of the query. Its module
says by `numba.extending.overload` how `respond` and `ascend` work for its type: unlike functions
passed as arguments, these are chosen when the loop is compiled, so that it can be cached.
"""

from typing import NamedTuple

import numpy as np

from crossmodal.methods._online.compiled import compiled
from crossmodal.methods._online.hinge import Margin, list_hinge
from crossmodal.methods._online.triplets import Sampler, draw_list


class Hyperparameters(NamedTuple):
    """The options of a method that the kernels need.

    Args:
        step_size: eta > 0.
        triplets_per_query: J >= 1, the length of a list.
        margin: Options of the margin.
    """

    step_size: float
    triplets_per_query: int
    margin: Margin


class Batch(NamedTuple):
    """Items to learn from, for one direction.

    Args:
        queries: Features, (n, p); their precision may differ from that of the model.
        documents: Features, (m, q).
        sampler: Draws the triplets.
    """

    queries: np.ndarray
    documents: np.ndarray
    sampler: Sampler


def respond(model: NamedTuple, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute W' x (q,) of a query x (p,), and what `ascend` needs of it."""
    raise NotImplementedError


def ascend(
    model: NamedTuple, step_size: float, x: np.ndarray, ascent: np.ndarray, image: np.ndarray
) -> None:
    """Change the model in place along step_size x ascent'.

    Args:
        model: Score x' W d.
        step_size: eta.
        x: The query, (p,); is overwritten.
        ascent: Sum of d+ - d- over the violating triplets, (q,).
        image: Second result of `respond` for x; is overwritten.
    """
    raise NotImplementedError


@compiled
def learn(
    model: NamedTuple,
    batch: Batch,
    rng: np.random.Generator,
    steps: tuple[int, int],
    hyperparameters: Hyperparameters,
) -> tuple[float, int, int]:
    """Learn from lists of triplets; see `Learner.learn`."""
    loss, violating, seen = 0.0, 0, 0
    pairs = np.empty((hyperparameters.triplets_per_query, 2), np.int64)
    x = np.empty_like(model[0][:, 0])
    ascent = np.empty(batch.documents.shape[1], x.dtype)
    for step in range(steps[0], steps[1]):
        query, drawn = draw_list(batch.sampler, step, rng, pairs)
        x[:] = batch.queries[query]
        towards, image = respond(model, x)
        losses, violations = list_hinge(
            towards,
            batch.documents,
            batch.sampler.document_labels,
            pairs[:drawn],
            hyperparameters.margin,
            ascent,
        )
        if violations > 0:
            ascend(model, hyperparameters.step_size, x, ascent, image)
        loss, violating, seen = loss + losses, violating + violations, seen + drawn
    return loss, violating, seen
