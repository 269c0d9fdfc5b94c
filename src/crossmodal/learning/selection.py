"""The validation score by which options and epochs are chosen."""

from crossmodal.data.split import Split
from crossmodal.learning.contract import embed, score
from crossmodal.learning.method import Direction, Method
from crossmodal.metrics.retrieval import CUTOFFS, Pool, evaluate, rsum


def directions(modalities: list[str]) -> list[Direction]:
    """Both retrieval directions: between the first two views; further views only help training."""
    first, second = modalities[:2]
    return [(first, second), (second, first)]


def pools(method: Method, split: Split) -> dict[str, Pool]:
    """Embeddings, items and labels of the two views that are retrieved."""
    labels = split.labels if split.labels.shape[1] else None
    found = {}
    for modality in list(split.views)[:2]:
        view = split.views[modality]
        rows = labels[view.items] if labels is not None else None
        found[modality] = Pool(embed(method, modality, view), view.items, rows)
    return found


def direction_metrics(method: Method, found: dict[str, Pool]) -> dict[Direction, dict[str, float]]:
    """Metrics of both directions between two embedded views."""
    return {
        (query, gallery): evaluate(
            found[query],
            found[gallery],
            lambda q, g, direction=(query, gallery): score(method, q, g, direction),
            cutoffs=CUTOFFS,
        )
        for query, gallery in directions(list(found))
    }


def selection_score(method: Method, split: Split) -> float:
    """Mean mAP of both directions for category methods; rsum for instance methods and if no item
    has a label.
    """
    metrics = list(direction_metrics(method, pools(method, split)).values())
    if method.task == "instance" or "mAP" not in metrics[0]:
        return rsum(*metrics)
    return sum(m["mAP"] for m in metrics) / 2
