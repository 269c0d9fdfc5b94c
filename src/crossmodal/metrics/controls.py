"""Control scorers that bound every metric: the truth, chance, and a collapsed model.

They pass through the same evaluation as the methods, so a metric that rewards stored order or ties
shows at once.
"""

import numpy as np

from crossmodal.metrics.blocks import ScoreRows
from crossmodal.metrics.retrieval import (
    RECALL_DEPTHS,
    Pool,
    per_query,
    same_item,
    shares_label,
    summary,
)


def controls(queries: Pool, gallery: Pool, seed: int) -> dict[str, dict[str, float]]:
    """Metrics of the scorers.

    Args:
        queries: What is asked; the embeddings are not read.
        gallery: What is searched.
        seed: Seed of the random scores.

    Returns:
        What `evaluate` returns, under 'perfect', 'random' and 'constant'.

    Raises:
        CrossmodalError: If only one side has labels.
    """
    return {
        name: summary(per_query(queries, gallery, score_rows), len(gallery))
        for name, score_rows in scorers(queries, gallery, seed).items()
    }


def spread_of_chance(queries: Pool, gallery: Pool) -> dict[str, float]:
    """Standard errors of random scores' metrics, as means over this many queries.

    Args:
        queries: See `controls`.
        gallery: See `controls`.

    Returns:
        Of 'mAP', 'mAP@R' and 'R@K', in the units of `summary`.
    """
    values = per_query(queries, gallery, scorers(queries, gallery, seed=0)["random"])
    named = {f"m{name}": v for name, v in values.items() if name.startswith("AP")}
    named |= {f"R@{k}": 100 * values[f"R@{k}"] for k in RECALL_DEPTHS}
    return {name: float(v.std() / len(v) ** 0.5) for name, v in named.items()}


def scorers(queries: Pool, gallery: Pool, seed: int) -> dict[str, ScoreRows]:
    """A perfect, a random and a constant scorer; see `controls`."""

    def perfect(rows: slice) -> np.ndarray:
        scores = 2 * same_item(queries, gallery, rows).astype(np.float32)
        if queries.labels is not None:
            scores += shares_label(queries, gallery, rows)
        return scores

    def random(rows: slice) -> np.ndarray:
        # A generator per query, so that the size of the blocks does not matter.
        draws = [np.random.default_rng((seed, row)) for row in range(rows.start, rows.stop)]
        return np.stack([draw.random(len(gallery), np.float32) for draw in draws])

    def constant(rows: slice) -> np.ndarray:
        return np.zeros((rows.stop - rows.start, len(gallery)), np.float32)

    return {"perfect": perfect, "random": random, "constant": constant}
