"""Metrics of intra-modal retrieval, from the embeddings of one run."""

from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.provenance import provenance
from crossmodal.metrics.controls import scorers
from crossmodal.metrics.intra_modal import per_row, spread_of_chance, summary
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.query_values import SUFFIX, QueryValues, write_query_values
from crossmodal.reporting.run_metrics import Directions, RunMetrics, write_metrics
from crossmodal.steps.evaluate import average
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import EvaluateSpec


def evaluate_intra_modal(spec: EvaluateSpec, output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of the test split as JSON, and the values of each query beside it.

    They are those of table V of Wu et al. 2020; directions are '<modality>-to-<modality>'.

    Args:
        spec: The hash of the code; the fit is not read.
        output: The JSON file; *.npz beside it is that of `write_query_values`.
        embeddings: Embedding file of the run.
        seed: Seeds the random control.

    Raises:
        CrossmodalError: If the embedding file is missing or corrupt, or without labels.
    """
    read = verified([embeddings])
    embedded = read_embeddings(embeddings)
    if not embedded.by_label:
        raise CrossmodalError(
            f"{embeddings}: intra-modal relevance is a shared label, so it needs a dataset with "
            "labels and a method for categories"
        )
    results: dict[str, Directions] = {}
    spread, per_direction = {}, {}
    for modality, pool in embedded.splits["test"].items():
        key = f"{modality}-to-{modality}"
        values = per_row(pool, embedded.scorer("test", modality, modality))
        results.setdefault("test", {})[key] = summary(values)
        spread[key] = spread_of_chance(values)
        per_direction[key] = QueryValues(np.array(embedded.ids[modality]), pool.items, values)
        for name, score_rows in scorers(pool, pool, seed).items():
            results.setdefault(name, {})[key] = summary(per_row(pool, score_rows))
    for directions in results.values():
        directions["average"] = average(*directions.values())
    metrics: RunMetrics = {
        "model": embedded.facts,
        "made": provenance(spec.code, read),
        "test": results.pop("test"),
        "controls": results,
        "test_items": len(np.unique(pool.items)),
        "spread_of_chance": spread,
    }
    write_query_values(output.with_suffix(SUFFIX), per_direction)
    write_metrics(output, metrics)
