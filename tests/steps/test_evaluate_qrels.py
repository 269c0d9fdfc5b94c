import json
from pathlib import Path

import numpy as np
import pytest

import crossmodal
from crossmodal.data.qrels import Judgement, write_qrels
from crossmodal.errors import CrossmodalError
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.query_values import read_query_values
from crossmodal.steps.evaluate_qrels import evaluate_qrels
from crossmodal.workflow.specs import EvaluateSpec

QRELS, OUTPUT = Path("own.csv"), Path("results/qrels/toy/own/toy/seed0.json")


def measured(run, judgements):
    write_qrels(QRELS, judgements)
    evaluate_qrels(EvaluateSpec(code="0123"), OUTPUT, run.embeddings, QRELS, run.data.folder, 0)
    return json.loads(OUTPUT.read_text())


def of_split(run, split, rng, share=0.2):
    """Judgements of some pairs of an image and a caption, both ways."""
    dataset = run.data.dataset
    items = [item.id for item in dataset.split(split)]
    pairs = [
        (item, caption.id)
        for item in items[: len(items) // 2]
        for other in items
        for caption in dataset.captions_of[other]
        if rng.random() < share
    ]
    pairs += [(caption, item) for item, caption in pairs if rng.random() < 0.5]
    return [Judgement(a, b, float(rng.integers(0, 4))) for a, b in pairs]


def test_metrics_are_those_of_the_scores_by_qrels(run_toy, rng):
    run = run_toy()
    judgements = of_split(run, "test", rng)
    metrics = measured(run, judgements)
    embedded = read_embeddings(run.embeddings)
    for direction in embedded.directions():
        ids = [embedded.ids[modality] for modality in direction]
        qrels = {
            query: {j.document: j.grade for j in judgements if j.query == query}
            for query in ids[0]
            if any(j.query == query for j in judgements)
        }
        rows = [row for row, id in enumerate(ids[0]) if id in qrels]
        scores = embedded.scorer("test", *direction)(slice(None))[rows]
        asked = [ids[0][row] for row in rows]
        expected = crossmodal.evaluate(scores, relevance=qrels, ids=(asked, ids[1]), draws=0)
        found = metrics["test"]["-to-".join(direction)]
        assert found == pytest.approx(expected.metrics)
        assert found["queries"] == len(rows) < len(ids[0])
        values = read_query_values(OUTPUT.with_suffix(".npz"))["-to-".join(direction)]
        assert values.ids.tolist() == asked
        for name, of in values.metrics().items():
            np.testing.assert_allclose(of, expected.per_query[name], rtol=1e-6)


def test_own_pairs_give_the_recalls_of_the_run_itself(run_toy):
    run = run_toy()
    pairs = [(c.item, c.id) for c in run.data.dataset.captions]
    both = [Judgement(*pair) for pair in pairs] + [Judgement(*pair[::-1]) for pair in pairs]
    found, own = measured(run, both), json.loads(run.metrics.read_text())
    for split in ("validation", "test"):
        for direction in ("image-to-text", "text-to-image"):
            for name in ("R@1", "R@5", "R@10", "MedR", "MeanR", "queries", "gallery"):
                assert found[split][direction][name] == own[split][direction][name]
        assert found[split]["both"]["rsum"] == pytest.approx(own[split]["both"]["rsum"])
    assert found["controls"]["perfect"]["image-to-text"]["nDCG@10"] == pytest.approx(1)
    random = found["controls"]["random"]["image-to-text"]["R-precision"]
    assert random < found["test"]["image-to-text"]["R-precision"] <= 1


def test_test_items_alone_have_no_metrics_of_validation(run_toy, rng):
    run = run_toy()
    assert "validation" not in measured(run, of_split(run, "test", rng))


def test_one_direction_alone_has_no_sums(run_toy):
    run = run_toy()
    item = run.data.dataset.split("test")[0].id
    assert [*measured(run, [Judgement(item, f"{item}#0")])["test"]] == ["image-to-text"]


@pytest.mark.parametrize("split", ["train", "validation"])
def test_qrels_without_test_items_are_refused(run_toy, rng, split):
    run = run_toy()
    with pytest.raises(CrossmodalError, match=r"own\.csv: judges no pair .* test split"):
        measured(run, of_split(run, split, rng))


def test_an_unknown_id_is_refused(run_toy):
    run = run_toy()
    with pytest.raises(CrossmodalError, match="row 2, column 'query': 'nobody' is no id"):
        measured(run, [Judgement("nobody", "item0")])
