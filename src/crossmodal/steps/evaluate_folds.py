"""Mean metrics of parts of the test items, each of which is ranked for itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.provenance import provenance
from crossmodal.metrics.controls import controls, spread_of_chance
from crossmodal.metrics.retrieval import Pool, per_query, summary
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting.query_values import SUFFIX, QueryValues, write_query_values
from crossmodal.reporting.run_metrics import Directions, RunMetrics, Values, write_metrics
from crossmodal.steps.evaluate import summarise
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import FoldsSpec


def evaluate_folds(spec: FoldsSpec, output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of the test split as JSON, and the values of each query beside it.

    Each metric, the median rank too, is the mean over the folds, as the released evaluation of
    Faghri et al. 2018 has it.

    Args:
        spec: Number of the folds; the fit is not read.
        output: The JSON file; *.npz beside it is that of `write_query_values`.
        embeddings: Embedding file of the run.
        seed: Seeds the random control.

    Raises:
        CrossmodalError: If the embedding file is missing or corrupt, or its test items are no
            multiple of the folds.
    """
    read = verified([embeddings])
    embedded = read_embeddings(embeddings)
    folds = list(_folds(embedded, spec.folds, embeddings))
    results: dict[str, Directions] = {}
    spread, per_direction = {}, {}
    for direction in embedded.directions():
        key = "-to-".join(direction)
        measured: dict[str, list[Values]] = {}
        values, errors = [], []
        for fold in folds:
            queries, gallery = fold.pools("test", direction)
            values.append(per_query(queries, gallery, fold.scorer("test", *direction)))
            measured.setdefault("test", []).append(summary(values[-1], len(gallery)))
            errors.append(spread_of_chance(queries, gallery, values[-1]["relevant"]))
            for scorer, bound in controls(queries, gallery, seed).items():
                measured.setdefault(scorer, []).append(bound)
        for name, parts in measured.items():
            results.setdefault(name, {})[key] = {m: _mean(parts, m) for m in parts[0]}
        spread[key] = {m: _error(errors, m) for m in errors[0]}
        per_direction[key] = _joined(folds, direction[0], values)
    results = {name: summarise(directions) for name, directions in results.items()}
    metrics: RunMetrics = {
        "model": embedded.facts,
        "made": provenance(spec.code, read),
        "test": results.pop("test"),
        "controls": results,
        "test_items": len(np.unique(embedded.pools("test", direction)[0].items)),
        "spread_of_chance": spread,
    }
    write_query_values(output.with_suffix(SUFFIX), per_direction)
    write_metrics(output, metrics)


def _folds(embedded: Embedded, count: int, path: Path) -> Iterator[Embedded]:
    """Yield the embeddings of each part of the test items."""
    pools = embedded.splits["test"]
    items = np.unique(np.concatenate([pool.items for pool in pools.values()]))
    if len(items) % count:
        raise CrossmodalError(
            f"{path}: {len(items):,} test items make no {count} folds of equal size; choose "
            "another number of `folds`"
        )
    for part in np.split(items, count):
        rows = {m: np.flatnonzero(np.isin(pool.items, part)) for m, pool in pools.items()}
        own = {m: _chosen(pool, rows[m]) for m, pool in pools.items()}
        ids = {m: [embedded.ids[m][row] for row in rows[m]] for m in pools}
        yield replace(embedded, splits={"test": own}, ids=ids)


def _chosen(pool: Pool, rows: np.ndarray) -> Pool:
    labels = None if pool.labels is None else pool.labels[rows]
    return Pool(pool.embeddings[rows], pool.items[rows], labels)


def _joined(
    folds: Sequence[Embedded], modality: str, values: Sequence[dict[str, np.ndarray]]
) -> QueryValues:
    """Return the values of all queries of one direction."""
    items = np.concatenate([fold.splits["test"][modality].items for fold in folds])
    ids = np.concatenate([fold.ids[modality] for fold in folds])
    joined = {name: np.concatenate([of[name] for of in values]) for name in values[0]}
    return QueryValues(ids, items, joined)


def _mean(parts: Sequence[Values], metric: str) -> float:
    return sum(part[metric] for part in parts) / len(parts)


def _error(parts: Sequence[Values], metric: str) -> float:
    """Return the standard error of a mean of independent parts."""
    return float(np.linalg.norm([part[metric] for part in parts]) / len(parts))
