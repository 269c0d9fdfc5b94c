"""All metrics of one run, from its embeddings."""

import json
from pathlib import Path
from typing import Any

import h5py

from crossmodal import plugins
from crossmodal.evaluation.controls import controls
from crossmodal.evaluation.retrieval import Pool, rsum
from crossmodal.evaluation.retrieval import evaluate as evaluate_direction
from crossmodal.evaluation.selection import directions
from crossmodal.files import write_json


def evaluate(spec: dict[str, Any], output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of one run as JSON.

    Keys: `test` and `validation`, each direction -> metric -> value; `controls`, scorer ->
    direction -> metric -> value on the test split; `model`, the facts of the run.

    Args:
        spec: `plugin` of the method.
        output: The JSON file.
        embeddings: Embedding file of the run.
        seed: Seeds the random control.
    """
    score = plugins.load("methods", spec["plugin"]).score
    with h5py.File(embeddings) as file:
        result: dict[str, Any] = {"model": json.loads(file.attrs["model"])}
        modalities = [str(m) for m in file.attrs["modalities"]]
        for name in ("validation", "test"):
            pools = {m: _read_pool(file[name][m]) for m in modalities}
            result[name] = summarise(
                {
                    f"{query}-to-{gallery}": evaluate_direction(
                        pools[query],
                        pools[gallery],
                        lambda q, g, pair=(query, gallery): score(q, g, pair),
                    )
                    for query, gallery in directions(modalities)
                }
            )
    by_direction = {
        f"{query}-to-{gallery}": controls(pools[query], pools[gallery], seed)
        for query, gallery in directions(modalities)
    }
    scorers = next(iter(by_direction.values()))
    result["controls"] = {
        scorer: summarise({d: found[scorer] for d, found in by_direction.items()})
        for scorer in scorers
    }
    write_json(output, result)


def summarise(metrics: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Add what belongs to both directions: `average` of each mAP, `both` with rsum.

    Args:
        metrics: Direction -> metric -> value, for the two directions.
    """
    first, second = metrics.values()
    average = {m: (first[m] + second[m]) / 2 for m in first if m.startswith("mAP")}
    return {**metrics, "average": average, "both": {"rsum": rsum(first, second)}}


def _read_pool(group: h5py.Group) -> Pool:
    labels = group["labels"][()] if "labels" in group else None
    return Pool(group["embeddings"][()], group["items"][()], labels)
