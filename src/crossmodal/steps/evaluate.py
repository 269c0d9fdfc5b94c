"""All metrics of one run, from its embeddings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from crossmodal import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.controls import controls, scorers
from crossmodal.evaluation.intra_modal import intra_modal
from crossmodal.evaluation.retrieval import Pool, precision_scope, rsum
from crossmodal.evaluation.retrieval import evaluate as evaluate_direction
from crossmodal.evaluation.selection import directions
from crossmodal.files import write_json
from crossmodal.methods.base import Direction, Method


def evaluate(spec: dict[str, Any], output: Path, embeddings: Path, seed: int) -> None:
    """Write the metrics of one run as JSON.

    Keys: `test` and `validation`, each direction -> metric -> value; `precision_scope`, direction
    -> scope -> precision on the test split; `controls`, scorer -> direction -> metric -> value on
    the test split; `model`, the facts of the run; for category methods `intra_modal`, `test` and
    `controls` of the retrieval within each modality.

    Args:
        spec: `plugin` of the method; its options come with the embeddings.
        output: The JSON file.
        embeddings: Embedding file of the run.
        seed: Seeds the random control.

    Raises:
        CrossmodalError: If the embedding file is missing or damaged.
    """
    facts, splits = read_pools(embeddings)
    method: Method = plugins.make("methods", spec["plugin"], facts["options"], "options")
    result: dict[str, Any] = {"model": facts}
    for name, pools in splits.items():
        result[name] = summarise(_by_direction(pools, _scored(evaluate_direction, method)))
    pools = splits["test"]
    result["precision_scope"] = _by_direction(pools, _scored(precision_scope, method))
    by_direction = _by_direction(pools, lambda query, gallery, _: controls(query, gallery, seed))
    result["controls"] = {
        scorer: summarise({d: found[scorer] for d, found in by_direction.items()})
        for scorer in next(iter(by_direction.values()))
    }
    if method.task == "category" and all(p.labels is not None for p in pools.values()):
        result["intra_modal"] = _within(pools, method, seed)
    write_json(output, result)


def _within(pools: dict[str, Pool], method: Method, seed: int) -> dict[str, Any]:
    """Metrics of the retrieval within each modality: `test` and `controls`."""
    found: dict[str, dict[str, Any]] = {}
    for modality, pool in pools.items():

        def score_rows(rows: slice, pool: Pool = pool, both: Direction = (modality,) * 2) -> Any:
            return method.score(pool.embeddings[rows], pool.embeddings, both)

        for name, scorer in {"test": score_rows, **scorers(pool, pool, seed)}.items():
            found.setdefault(name, {})[f"{modality}-to-{modality}"] = intra_modal(pool, scorer)
    for metrics in found.values():
        metrics["average"] = _average(*metrics.values())
    return {"test": found.pop("test"), "controls": found}


def _by_direction(
    pools: dict[str, Pool], measure: Callable[[Pool, Pool, Direction], dict[Any, Any]]
) -> dict[str, dict[Any, Any]]:
    """What a measure finds in each of the two directions."""
    return {
        f"{query}-to-{gallery}": measure(pools[query], pools[gallery], (query, gallery))
        for query, gallery in directions(list(pools))
    }


def _scored(
    measure: Callable[..., dict[Any, float]], method: Method
) -> Callable[[Pool, Pool, Direction], dict[Any, float]]:
    """A measure of a method's scores."""
    return lambda query, gallery, direction: measure(
        query, gallery, lambda q, g: method.score(q, g, direction)
    )


def summarise(metrics: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Add what belongs to both directions: `average` of each mAP, `both` with rsum.

    Args:
        metrics: Direction -> metric -> value, for the two directions.
    """
    first, second = metrics.values()
    return {**metrics, "average": _average(first, second), "both": {"rsum": rsum(first, second)}}


def _average(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    return {m: (first[m] + second[m]) / 2 for m in first if m.startswith("mAP")}


def read_pools(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Pool]]]:
    """Facts of a run, and the pools of each split by modality, first and second view.

    Args:
        path: Embedding file of the run.

    Raises:
        CrossmodalError: If it is missing or damaged.
    """
    try:
        with h5py.File(path) as file:
            modalities = [str(m) for m in file.attrs["modalities"]]
            facts = json.loads(file.attrs["model"])
            return facts, {
                split: {m: _read_pool(file[split][m]) for m in modalities}
                for split in ("validation", "test")
            }
    except (OSError, KeyError) as error:
        raise CrossmodalError(f"{path}: not a whole embedding file ({error})") from error


def _read_pool(group: h5py.Group) -> Pool:
    labels = group["labels"][()] if "labels" in group else None
    return Pool(group["embeddings"][()], group["items"][()], labels)
