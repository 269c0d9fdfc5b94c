"""Metrics of queries whose relevance people judged, or stated in any other way as grades."""

from collections.abc import Mapping

import numpy as np

from crossmodal.metrics import retrieval
from crossmodal.metrics.blocks import Values
from crossmodal.metrics.graded_ranking import (
    average_precision_at_r,
    ndcg_at,
    r_precision,
    reciprocal_rank,
)
from crossmodal.metrics.ranking import average_precision, counts, first_hit
from crossmodal.metrics.retrieval import CUTOFFS, RECALL_DEPTHS, ranks

DEPTH = 10  # of nDCG


def values_of(scores: np.ndarray, grades: np.ndarray) -> Values:
    """Return the metrics of each query, (q,).

    Args:
        scores: Higher is better, (q, n).
        grades: Relevance, 0 or above, (q, n); what is above 0 is relevant.

    Raises:
        CrossmodalError: If a grade is negative or no number, or a score is NaN.
    """
    relevant = grades > 0
    values = ranks(scores, relevant)
    values["AP"] = average_precision(scores, relevant)
    values |= {f"AP@{r}": average_precision(scores, relevant, r) for r in CUTOFFS}
    values["AP@R"] = average_precision_at_r(scores, relevant)
    values["R-precision"] = r_precision(scores, relevant)
    values["RR"] = reciprocal_rank(first_hit(scores, relevant))
    values[f"nDCG@{DEPTH}"] = ndcg_at(DEPTH, scores, grades)
    return values | {"relevant": counts(relevant)}


def metrics_of(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values whose means are metrics, by the metrics' names and in their units."""
    means = {f"m{name}": values[name] for name in values if name.startswith("AP")}
    means |= {"MRR": values["RR"]}
    means |= {name: values[name] for name in ("R-precision", f"nDCG@{DEPTH}")}
    recalls = [f"R@{k}{ties}" for ties in ("", "_pessimistic") for k in RECALL_DEPTHS]
    means |= {name: 100 * values[name] for name in recalls}
    return means | {"MeanR": values["rank"], "MeanR_pessimistic": values["rank_pessimistic"]}


def summary(values: Mapping[str, np.ndarray], documents: int) -> dict[str, float]:
    """Return means over queries, and what `retrieval.summary` says of them."""
    means = {name: float(of.mean()) for name, of in metrics_of(values).items()}
    return means | retrieval.summary(values, documents)
