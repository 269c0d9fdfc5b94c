"""Metrics of the retrieval within each modality, from the embeddings of one run."""

from pathlib import Path
from typing import Any

from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.controls import scorers
from crossmodal.evaluation.embedded import read_embedded
from crossmodal.evaluation.intra_modal import intra_modal
from crossmodal.files import write_json
from crossmodal.steps.evaluate import average


def within(output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of the test split as JSON: table V of Wu et al. 2020.

    Keys: `test`, '<modality>-to-<modality>' -> metric -> value; `controls`, scorer -> the same;
    `model`, the facts of the run.

    Args:
        output: The JSON file.
        embeddings: Embedding file of the run.
        seed: Seeds the random control.

    Raises:
        CrossmodalError: If the embedding file is missing or damaged, or without labels.
    """
    embedded = read_embedded(embeddings)
    if not embedded.by_label:
        raise CrossmodalError(
            f"{embeddings}: within a modality, relevant is what shares a label; this needs a "
            "dataset with labels and a method for categories"
        )
    found: dict[str, dict[str, Any]] = {}
    for modality, pool in embedded.splits["test"].items():
        own = {"test": embedded.scorer("test", modality, modality)}
        for name, score_rows in (own | scorers(pool, pool, seed)).items():
            found.setdefault(name, {})[f"{modality}-to-{modality}"] = intra_modal(pool, score_rows)
    for metrics in found.values():
        metrics["average"] = average(*metrics.values())
    write_json(output, {"test": found.pop("test"), "controls": found, "model": embedded.facts})
