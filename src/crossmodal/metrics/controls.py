"""Control scorers that bound every metric: the truth, chance, and a collapsed model.

They pass through the same evaluation as the methods, so a metric that rewards stored order or ties
shows at once.
"""

import numpy as np

from crossmodal.metrics.blocks import ScoreRows
from crossmodal.metrics.random_ranking import precision_error, recall_error
from crossmodal.metrics.retrieval import (
    CUTOFFS,
    RECALL_DEPTHS,
    Pool,
    per_query,
    same_item,
    shares_label,
    summary,
)


def controls(queries: Pool, gallery: Pool, seed: int) -> dict[str, dict[str, float]]:
    """Return the metrics of the scorers.

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


def spread_of_chance(queries: Pool, gallery: Pool, relevant: np.ndarray) -> dict[str, float]:
    """Return the standard errors of random scores' metrics, as means over this many queries.

    Args:
        queries: See `controls`.
        gallery: See `controls`.
        relevant: Documents that share a label with each query, (q,); not read without labels.

    Returns:
        Of 'mAP', 'mAP@R' and 'R@K', in the units of `summary`.
    """
    items, counts = np.unique(gallery.items, return_counts=True)
    place = np.minimum(np.searchsorted(items, queries.items), len(items) - 1)
    own = np.where(items[place] == queries.items, counts[place], 0)
    documents = len(gallery)
    errors = {f"R@{k}": 100 * recall_error(own, documents, k) for k in RECALL_DEPTHS}
    if queries.labels is not None:
        ranked = np.full(len(queries), documents)
        errors["mAP"] = precision_error(relevant, ranked)
        errors |= {f"mAP@{r}": precision_error(relevant, ranked, r) for r in CUTOFFS}
    return errors


def scorers(queries: Pool, gallery: Pool, seed: int) -> dict[str, ScoreRows]:
    """Return a perfect, a random and a constant scorer; see `controls`."""

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
