"""All metrics of one run, from its embeddings."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crossmodal.io.provenance import provenance
from crossmodal.learning.method import Direction
from crossmodal.metrics.controls import controls, spread_of_chance
from crossmodal.metrics.retrieval import per_query, rsum, summary
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting.query_values import SUFFIX, QueryValues, write_query_values
from crossmodal.reporting.run_metrics import Directions, RunMetrics, Values, write_metrics
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import EvaluateSpec

SCOPES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # of the curve of CMOLRS's figure 3


def evaluate(spec: EvaluateSpec, output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of one run as JSON, and the values of each test query beside it.

    Args:
        spec: The hash of the code; the fit is not read.
        output: The JSON file; *.npz beside it is that of `write_query_values`.
        embeddings: Embedding file of the run.
        seed: Seeds the random control.

    Raises:
        CrossmodalError: If the embedding file is missing or corrupt.
    """
    read = verified([embeddings])
    embedded = read_embeddings(embeddings)
    # one split after the other, since `PairScorer` keeps the scores of the last pairs
    validation = {
        "-to-".join(direction): summary(*_measure(embedded, "validation", direction))
        for direction in embedded.directions()
    }
    test, share, spread, per_direction = {}, {}, {}, {}
    precision: dict[str, dict[int, float]] = {}
    bounds: dict[str, Directions] = {}
    for direction in embedded.directions():
        key = "-to-".join(direction)
        queries, gallery = embedded.pools("test", direction)
        scopes = [scope for scope in SCOPES if scope <= len(gallery)]
        values, documents = _measure(embedded, "test", direction, scopes)
        test[key] = summary(values, documents)
        means = values["precision"].mean(axis=0).tolist()
        precision[key] = dict(zip(scopes, means, strict=True))
        share[key] = float(values["relevant"].mean() / documents)
        spread[key] = spread_of_chance(queries, gallery, values["relevant"])
        ids = np.array(embedded.ids[direction[0]])
        per_direction[key] = QueryValues(ids, queries.items, values)
        for scorer, bound in controls(queries, gallery, seed).items():
            bounds.setdefault(scorer, {})[key] = bound
    metrics: RunMetrics = {
        "model": embedded.facts,
        "made": provenance(spec.code, read),
        "validation": summarise(validation),
        "test": summarise(test),
        "precision_scope": precision,
        "precision_by_chance": share,
        "controls": {scorer: summarise(bound) for scorer, bound in bounds.items()},
        "test_items": len(np.unique(queries.items)),
        "spread_of_chance": spread,
    }
    write_query_values(output.with_suffix(SUFFIX), per_direction)
    write_metrics(output, metrics)


def _measure(
    embedded: Embedded, split: str, direction: Direction, scopes: Sequence[int] = ()
) -> tuple[dict[str, np.ndarray], int]:
    """Return the values of each query of one direction, and the number of documents."""
    queries, gallery = embedded.pools(split, direction)
    scorer = embedded.scorer(split, *direction)
    return per_query(queries, gallery, scorer, scopes=scopes), len(gallery)


def summarise(metrics: Directions) -> Directions:
    """Add what belongs to both directions: `average` of each mAP, `both` with rsum.

    Args:
        metrics: Direction -> metric -> value, for the two directions.
    """
    first, second = metrics.values()
    return {**metrics, "average": average(first, second), "both": {"rsum": rsum(first, second)}}


def average(first: Values, second: Values) -> Values:
    """Return the mean of each mAP of two directions."""
    return {m: (first[m] + second[m]) / 2 for m in first if m.startswith("mAP")}
