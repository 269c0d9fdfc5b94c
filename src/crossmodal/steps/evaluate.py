"""All metrics of one run, from its embeddings."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from crossmodal.io.files import write_json
from crossmodal.io.provenance import provenance
from crossmodal.learning.method import Direction
from crossmodal.metrics.controls import controls, spread_of_chance
from crossmodal.metrics.retrieval import per_query, rsum, summary
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting.query_values import SUFFIX, QueryValues, write_query_values
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import EvaluateSpec

SCOPES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # of the curve of CMOLRS's figure 3


def evaluate(spec: EvaluateSpec, output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of one run as JSON, and the values of each test query beside it.

    Keys: `test` and `validation`, each direction -> metric -> value; `precision_scope`, direction
    -> scope -> precision on the test split, relevant being what shares a label or, without labels,
    the item; `precision_by_chance`, direction -> share of relevant documents; `controls`, scorer ->
    direction -> metric -> value on the test split; `test_items`, their number; `spread_of_chance`,
    direction -> metric -> standard error; `model`, the facts of the run; `made`, the provenance of
    these metrics.

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
    validation, test, precision, share, spread, per_direction = {}, {}, {}, {}, {}, {}
    bounds: dict[str, dict[str, dict[str, float]]] = {}
    for direction in embedded.directions():
        key = "-to-".join(direction)
        queries, gallery = embedded.pools("test", direction)
        validation[key] = summary(*_measure(embedded, "validation", direction))
        scopes = [scope for scope in SCOPES if scope <= len(gallery)]
        values, documents = _measure(embedded, "test", direction, scopes)
        test[key] = summary(values, documents)
        precision[key] = dict(zip(scopes, values["precision"].mean(axis=0).tolist(), strict=True))
        share[key] = float(values["relevant"].mean() / documents)
        spread[key] = spread_of_chance(queries, gallery, values["relevant"])
        ids = np.array(embedded.ids[direction[0]])
        per_direction[key] = QueryValues(ids, queries.items, values)
        for scorer, metrics in controls(queries, gallery, seed).items():
            bounds.setdefault(scorer, {})[key] = metrics
    result = {
        "model": embedded.facts,
        "made": provenance(spec.code, read),
        "validation": summarise(validation),
        "test": summarise(test),
        "precision_scope": precision,
        "precision_by_chance": share,
        "controls": {scorer: summarise(metrics) for scorer, metrics in bounds.items()},
        "test_items": len(np.unique(queries.items)),
        "spread_of_chance": spread,
    }
    write_query_values(output.with_suffix(SUFFIX), per_direction)
    write_json(output, result)


def _measure(
    embedded: Embedded, split: str, direction: Direction, scopes: Sequence[int] = ()
) -> tuple[dict[str, np.ndarray], int]:
    """Return the values of each query of one direction, and the number of documents."""
    queries, gallery = embedded.pools(split, direction)
    scorer = embedded.scorer(split, *direction)
    return per_query(queries, gallery, scorer, scopes=scopes), len(gallery)


def summarise(metrics: Mapping[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Add what belongs to both directions: `average` of each mAP, `both` with rsum.

    Args:
        metrics: Direction -> metric -> value, for the two directions.
    """
    first, second = metrics.values()
    return {**metrics, "average": average(first, second), "both": {"rsum": rsum(first, second)}}


def average(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    """Return the mean of each mAP of two directions."""
    return {m: (first[m] + second[m]) / 2 for m in first if m.startswith("mAP")}
