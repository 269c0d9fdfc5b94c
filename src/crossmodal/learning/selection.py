"""The validation score by which options and epochs are chosen."""

from dataclasses import replace
from functools import partial

from crossmodal.data.split import Split
from crossmodal.learning.contract import embed, score
from crossmodal.learning.method import Direction, Method
from crossmodal.metrics.retrieval import Pool, evaluate, rsum


def directions(modalities: list[str]) -> list[Direction]:
    """Return both directions between the first two views; further views only help training."""
    first, second = modalities[:2]
    return [(first, second), (second, first)]


def pools(method: Method, split: Split) -> dict[str, Pool]:
    """Return embeddings, items and labels of the two views that are retrieved."""
    labels = split.labels if split.labels.shape[1] else None
    sides = {}
    for modality in list(split.views)[:2]:
        view = split.views[modality]
        rows = labels[view.items] if labels is not None else None
        sides[modality] = Pool(embed(method, modality, view), view.items, rows)
    return sides


def direction_metrics(method: Method, sides: dict[str, Pool]) -> dict[Direction, dict[str, float]]:
    """Return metrics of both directions between two embedded views."""
    return {
        (query, gallery): evaluate(
            sides[query],
            sides[gallery],
            partial(score, method, direction=(query, gallery)),
            cutoffs=(),
        )
        for query, gallery in directions(list(sides))
    }


def selection_score(method: Method, split: Split) -> float:
    """Return the mean mAP of both directions, or rsum.

    rsum is that of instance methods, and of items without labels.
    """
    sides = pools(method, split)
    by_item = method.task == "instance" or not split.labels.shape[1]
    if by_item:  # labels would cost the time of an mAP
        sides = {modality: replace(pool, labels=None) for modality, pool in sides.items()}
    first, second = direction_metrics(method, sides).values()
    return rsum(first, second) if by_item else (first["mAP"] + second["mAP"]) / 2
