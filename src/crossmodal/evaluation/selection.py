"""The number by which options and epochs are chosen, on the validation split alone."""

from typing import TYPE_CHECKING

from crossmodal.evaluation.retrieval import Pool, evaluate, rsum

if TYPE_CHECKING:
    from crossmodal.data import Split
    from crossmodal.methods.base import Direction, Method


def directions(modalities: list[str]) -> list["Direction"]:
    """Both retrieval directions: between the first two views; further views only help training."""
    first, second = modalities[:2]
    return [(first, second), (second, first)]


def pools(method: "Method", split: "Split") -> dict[str, Pool]:
    """Embeddings, items and labels of the two views that are retrieved."""
    labels = split.labels if split.labels.shape[1] else None
    found = {}
    for modality in list(split.views)[:2]:
        view = split.views[modality]
        rows = labels[view.items] if labels is not None else None
        found[modality] = Pool(method.embed(modality, view), view.items, rows)
    return found


def selection_score(method: "Method", split: "Split") -> float:
    """Mean mAP of both directions for category methods; rsum for instance methods and if no item
    has a label.
    """
    found = pools(method, split)
    metrics = [
        evaluate(
            found[query],
            found[gallery],
            lambda q, g, direction=(query, gallery): method.score(q, g, direction),
        )
        for query, gallery in directions(list(split.views))
    ]
    if method.task == "instance" or "mAP" not in metrics[0]:
        return rsum(*metrics)
    return sum(m["mAP"] for m in metrics) / 2
