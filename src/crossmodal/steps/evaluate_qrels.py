"""Metrics of one run by qrels: whatever people judged to answer a query is relevant."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crossmodal.data.prepared import Prepared
from crossmodal.data.qrels import Grades, Judgement, Side, grades_of, read_qrels
from crossmodal.errors import CrossmodalError
from crossmodal.io.provenance import provenance
from crossmodal.learning.method import Direction
from crossmodal.metrics.blocks import ScoreRows, over_scores
from crossmodal.metrics.controls import scorers
from crossmodal.metrics.judged import summary, values_of
from crossmodal.models.embedding_file import SPLITS, Embedded, read_embedded_rows, read_embeddings
from crossmodal.reporting.query_values import SUFFIX, QueryValues, write_query_values
from crossmodal.reporting.run_metrics import Directions, RunMetrics, write_metrics
from crossmodal.steps.evaluate import summarise
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import EvaluateSpec


def evaluate_qrels(
    spec: EvaluateSpec, output: Path, embeddings: Path, qrels: Path, folder: Path, seed: int
) -> None:
    """Write the metrics of one run as JSON, and the values of each test query beside it.

    Queries of which nothing was judged are not asked. Validation items have metrics where queries
    of theirs were judged.

    Args:
        spec: The hash of the code; the fit is not read.
        output: The JSON file; *.npz beside it is that of `write_query_values`.
        embeddings: Embedding file of the run.
        qrels: CSV of query, document and grade.
        folder: Folder of the prepared dataset, whose items and captions the qrels name.
        seed: Seeds the random control.

    Raises:
        CrossmodalError: If a file is missing or corrupt, the qrels name what the dataset has not,
            or judge no pair of test items.
    """
    read = verified([embeddings, qrels, folder / "items.csv", folder / "captions.csv"])
    embedded, dataset = read_embeddings(embeddings), Prepared(folder)
    judgements = read_qrels(qrels, dataset)
    results: dict[str, Directions] = {}
    per_direction = {}
    for split in SPLITS:
        ids = {m: read_embedded_rows(embeddings, split, m)[0] for m in embedded.ids}
        for direction, grades in _judged(embedded, judgements, ids, dataset):
            key, documents = "-to-".join(direction), grades.matrix.shape[1]
            values = _values(grades, embedded.scorer(split, *direction))
            results.setdefault(split, {})[key] = summary(values, documents)
            if split == "test":
                queries, gallery = embedded.pools(split, direction)
                names = np.array(ids[direction[0]])[grades.asked]
                per_direction[key] = QueryValues(names, queries.items[grades.asked], values)
                bounds = {**scorers(queries, gallery, seed), "perfect": _perfect(grades)}
                for scorer, score_rows in bounds.items():
                    bound = summary(_values(grades, score_rows), documents)
                    results.setdefault(scorer, {})[key] = bound
    if "test" not in results:
        raise CrossmodalError(
            f"{qrels}: judges no pair of a query and a document of {folder}'s test split; name "
            "test items or captions of theirs"
        )
    results |= {name: summarise(both) for name, both in results.items() if len(both) == 2}
    metrics: RunMetrics = {
        "model": embedded.facts,
        "made": provenance(spec.code, read),
        "test": results.pop("test"),
    }
    if "validation" in results:
        metrics["validation"] = results.pop("validation")
    write_query_values(output.with_suffix(SUFFIX), per_direction)
    write_metrics(output, metrics | {"controls": results})


def _judged(
    embedded: Embedded,
    judgements: Sequence[Judgement],
    ids: dict[str, list[str]],
    dataset: Prepared,
) -> list[tuple[Direction, Grades]]:
    """Return the directions in which queries of a split were judged, with the grades."""
    directions = []
    for direction in embedded.directions():
        queries, documents = (Side(modality, ids[modality]) for modality in direction)
        grades = grades_of(judgements, queries, documents, dataset)
        if grades.asked.size:
            directions.append((direction, grades))
    return directions


def _values(grades: Grades, score_rows: ScoreRows) -> dict[str, np.ndarray]:
    """Return the values of each query that was judged."""

    def measure(rows: slice, scores: np.ndarray) -> dict[str, np.ndarray]:
        return {**values_of(scores, grades.matrix[rows].toarray())}

    values = over_scores(measure, score_rows, *grades.matrix.shape)
    return {name: of[grades.asked] for name, of in values.items()}


def _perfect(grades: Grades) -> ScoreRows:
    return lambda rows: grades.matrix[rows].toarray()
