"""Metrics of intra-modal retrieval, from the embeddings of one run."""

from pathlib import Path
from typing import Any

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_json
from crossmodal.io.provenance import provenance
from crossmodal.metrics.controls import scorers
from crossmodal.metrics.intra_modal import intra_modal, spread_of_chance
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.steps.evaluate import average
from crossmodal.workflow.records import verified


def evaluate_intra_modal(spec: dict[str, Any], output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of the test split as JSON: table V of Wu et al. 2020.

    Keys: `test`, '<modality>-to-<modality>' -> metric -> value; `controls`, scorer -> the same;
    `test_items`, their number; `spread_of_chance`, '<modality>-to-<modality>' -> metric -> standard
    error; `model`, the facts of the run; `made`, the provenance of these metrics.

    Args:
        spec: `code`, a hash of the source; what else is in it is not read.
        output: The JSON file.
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
    found: dict[str, dict[str, Any]] = {}
    spread = {}
    for modality, pool in embedded.splits["test"].items():
        spread[f"{modality}-to-{modality}"] = spread_of_chance(pool)
        own = {"test": embedded.scorer("test", modality, modality)}
        for name, score_rows in (own | scorers(pool, pool, seed)).items():
            found.setdefault(name, {})[f"{modality}-to-{modality}"] = intra_modal(pool, score_rows)
    for metrics in found.values():
        metrics["average"] = average(*metrics.values())
    result = {
        "model": embedded.facts,
        "made": provenance(spec, read),
        "test": found.pop("test"),
        "controls": found,
        "test_items": len(np.unique(pool.items)),
        "spread_of_chance": spread,
    }
    write_json(output, result)
