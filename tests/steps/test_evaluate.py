import json

import h5py
import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity

from crossmodal.models.embedding_file import Embedded
from crossmodal.steps.evaluate import evaluate, summarise
from crossmodal.workflow.specs import EvaluateSpec

DIRECTIONS = ["image-to-text", "text-to-image"]


def direct_metrics(query, gallery):
    """mAP, mAP@50, recalls and ranks of one direction by loops over the queries."""
    scores = cosine_similarity(query["embeddings"], gallery["embeddings"])
    precisions, cut, ranks = [], {50: [], 100: []}, []
    for row, item in enumerate(query["items"]):
        order = np.argsort(-scores[row])
        ranks.append(1 + np.flatnonzero(gallery["items"][order] == item)[0])
        if "labels" in query:
            relevant = gallery["labels"] @ query["labels"][row] > 0
            precisions.append(average_precision_score(relevant, scores[row]))
            for depth, values in cut.items():
                hits = np.flatnonzero(relevant[order][:depth])
                found = np.arange(1, len(hits) + 1) / (hits + 1)
                values.append(np.mean(found) if len(hits) else 0.0)
    found = {f"R@{k}": 100 * np.mean(np.array(ranks) <= k) for k in (1, 5, 10)}
    found |= {"MedR": np.floor(np.median(ranks)), "MeanR": np.mean(ranks)}
    if precisions:
        found |= {"mAP": np.mean(precisions)}
        found |= {f"mAP@{depth}": np.mean(values) for depth, values in cut.items()}
    return found | {"queries": len(scores), "gallery": scores.shape[1]}


def read_split(path, split):
    with h5py.File(path) as file:
        return {m: {k: v[()] for k, v in file[split][m].items()} for m in ("image", "text")}


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_metrics_are_those_of_a_direct_computation(run_toy, split, labelled):
    run = run_toy(labelled)
    found = json.loads(run.metrics.read_text())[split]
    views = read_split(run.embeddings, split)
    for direction in DIRECTIONS:
        query, gallery = direction.split("-to-")
        expected = direct_metrics(views[query], views[gallery])
        assert {m: found[direction][m] for m in expected} == pytest.approx(expected, abs=1e-9)


def test_the_planted_signal_is_found(run_toy):
    """Well above chance and below perfection, or the comparison would show nothing."""
    result = json.loads(run_toy().metrics.read_text())
    chance, found, perfect = (
        part["average"]["mAP"]
        for part in (result["controls"]["random"], result["test"], result["controls"]["perfect"])
    )
    assert chance + 0.1 < found < perfect - 0.1


def test_the_file_has_splits_controls_and_facts(run_toy):
    run = run_toy()
    result = json.loads(run.metrics.read_text())
    names = [
        "controls",
        "made",
        "model",
        "precision_by_chance",
        "precision_scope",
        "spread_of_chance",
        "test",
    ]
    assert sorted(result) == [*names, "test_items", "validation"]
    assert sorted(result["controls"]) == ["constant", "perfect", "random"]
    assert result["model"] == json.loads(run.model.with_suffix(".json").read_text())["fit"]
    for part in (result["test"], result["validation"], *result["controls"].values()):
        assert sorted(part) == sorted([*DIRECTIONS, "average", "both"])


def test_the_selected_options_had_this_validation_score(run_toy):
    result = json.loads(run_toy().metrics.read_text())
    assert result["validation"]["average"]["mAP"] == pytest.approx(result["model"]["validation"])
    scores = [candidate["validation"] for candidate in result["model"]["search"]]
    assert result["model"]["validation"] == max(scores)


def test_both_directions_are_averaged_and_summed(run_toy):
    test = json.loads(run_toy().metrics.read_text())["test"]
    first, second = (test[direction] for direction in DIRECTIONS)
    assert test["average"] == {m: (first[m] + second[m]) / 2 for m in ("mAP", "mAP@50", "mAP@100")}
    rsum = sum(part[f"R@{k}"] for part in (first, second) for k in (1, 5, 10))
    assert test["both"] == {"rsum": pytest.approx(rsum)}


def test_a_dataset_without_labels_has_no_map(run_toy):
    result = json.loads(run_toy(labelled=False).metrics.read_text())
    for part in (result["test"], *result["controls"].values()):
        assert part["average"] == {}
        assert not [metric for metric in part["image-to-text"] if metric.startswith("mAP")]
        assert part["both"]["rsum"] > 0


def test_controls_bound_the_metrics(run_toy):
    controls = json.loads(run_toy().metrics.read_text())["controls"]
    assert controls["perfect"]["average"]["mAP"] == 1.0
    assert controls["perfect"]["both"]["rsum"] == 600.0
    # 2 of 48 captions belong to an image: K draws without replacement
    missed = (46 - np.arange(10)) / (48 - np.arange(10))
    expected = {f"R@{k}": 100 * (1 - missed[:k].prod()) for k in (1, 5, 10)}
    found = controls["constant"]["image-to-text"]
    assert {m: found[m] for m in expected} == pytest.approx(expected)


def test_random_control_alone_follows_the_seed(run_toy, tmp_path):
    run = run_toy()
    for name, seed in (("same", 0), ("other", 1)):
        evaluate(EvaluateSpec(code="0123"), tmp_path / f"{name}.json", run.embeddings, seed)
    assert (tmp_path / "same.json").read_text() == run.metrics.read_text()
    first, other = (json.loads(p.read_text()) for p in (run.metrics, tmp_path / "other.json"))
    assert first["controls"].pop("random") != other["controls"].pop("random")
    assert first == other


def test_the_first_view_is_the_query_of_the_first_direction(run_toy):
    swapped = run_toy(views={"text": "words", "image": "pixels"})
    found = json.loads(swapped.metrics.read_text())["test"]
    directions = [direction for direction in found if "-to-" in direction]
    assert directions == sorted(DIRECTIONS)  # keys of the file are sorted
    assert found["text-to-image"]["queries"] == 2 * found["image-to-text"]["queries"]


def test_the_precision_curve_ends_before_the_gallery_does(run_toy):
    result = json.loads(run_toy().metrics.read_text())
    curve = result["precision_scope"]["image-to-text"]  # 48 captions
    assert list(curve) == ["1", "2", "5", "10", "20"]
    assert all(0 <= precision <= 1 for precision in curve.values())


@pytest.mark.parametrize("labelled", [True, False])
def test_the_precision_counts_shared_labels_or_else_the_own_item(run_toy, labelled):
    run = run_toy(labelled)
    found = json.loads(run.metrics.read_text())
    views = read_split(run.embeddings, "test")
    for direction in DIRECTIONS:
        query, gallery = (views[m] for m in direction.split("-to-"))
        scores = cosine_similarity(query["embeddings"], gallery["embeddings"])
        first = np.argsort(-scores, axis=1)[:, :10]
        right = gallery["items"][first] == query["items"][:, None]
        if labelled:
            right = (gallery["labels"][first] & query["labels"][:, None]).any(axis=2)
        curve = found["precision_scope"][direction]
        assert curve["10"] == pytest.approx(right.mean())
        assert curve["1"] == pytest.approx(right[:, 0].mean())


def test_metrics_are_averaged_only_where_a_direction_has_them():
    recalls = {f"R@{k}": 10.0 * k for k in (1, 5, 10)}
    first = {"mAP": 0.5, "mAP@50": 0.25, **recalls, "MedR": 3.0}
    second = {"mAP": 0.7, "mAP@50": 0.75, **recalls, "MedR": 4.0}
    found = summarise({"a-to-b": first, "b-to-a": second})
    assert found["average"] == pytest.approx({"mAP": 0.6, "mAP@50": 0.5})
    assert found["both"] == {"rsum": 320.0}
    assert (found["a-to-b"], found["b-to-a"]) == (first, second)


def test_one_split_is_scored_after_the_other(run_toy, monkeypatch):
    """`PairScorer` keeps the scores of the last pairs, for the other direction."""
    run, asked, scorer = run_toy(), [], Embedded.scorer

    def noted(self, split, *direction):
        asked.append(split)
        return scorer(self, split, *direction)

    monkeypatch.setattr(Embedded, "scorer", noted)
    evaluate(EvaluateSpec(), run.metrics, run.embeddings, 0)
    assert asked == ["validation", "validation", "test", "test"]
