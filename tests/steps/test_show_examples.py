import json
import re
import shutil
from pathlib import Path

import h5py
import pytest

from crossmodal.commands.compare import compare
from crossmodal.errors import CrossmodalError
from crossmodal.steps.evaluate import evaluate
from crossmodal.steps.show_examples import show_examples
from crossmodal.workflow.report_specs import ExamplesSpec
from crossmodal.workflow.specs import EvaluateSpec

PARAMS = Path(__file__).parents[2] / "params.yaml"


def page_of(run, output, **spec):
    told = {"labels": ["Best & first"], "dataset": "toy", "relevance": "category"}
    spec = ExamplesSpec(**(told | spec))
    embeddings = [run.embeddings] * len(spec.labels)
    show_examples(spec, output, embeddings, run.data.folder)
    return output.read_text(encoding="utf-8")


@pytest.mark.parametrize("labelled", [True, False])
def test_example_page_has_both_directions_and_outcomes(run_toy, tmp_path, labelled):
    page = page_of(run_toy(labelled), tmp_path / "examples" / "toy.html")
    assert "<h1>Best &amp; first: toy, test split</h1>" in page
    rule = "its first label is that of the query" if labelled else "of the query's own item"
    assert rule in page
    chances = {float(found) for found in re.findall(r"by chance ([\d.]+)% are right", page)}
    assert len(chances) >= 1
    assert all(20 < found < 60 for found in chances) if labelled else chances == {4.2}
    assert "<meta name='viewport'" in page
    assert page.count("<h2>image to text</h2>") == page.count("<h2>text to image</h2>") == 1
    rows, kinds = page.count("<tr><td>"), re.findall(r"<td class='(\w+)'>(.)", page)
    assert 20 < rows <= 40  # ten at random and up to ten failures in each direction
    assert len(kinds) == 6 * rows
    assert set(kinds) == {("right", "\u2713"), ("wrong", "\u2717")}
    assert ">words<" in page
    assert not re.search(r"(src|href)=.?(?!.?data:)", page)


def test_an_embedding_file_that_is_not_there_is_named(run_toy, tmp_path):
    run = run_toy()
    run.embeddings.unlink()
    with pytest.raises(CrossmodalError, match=r"seed0\.h5"):
        page_of(run, tmp_path / "toy.html")


def test_another_model_answers_the_same_random_queries_beside(run_toy, tmp_path):
    page = page_of(run_toy(), tmp_path / "toy.html", labels=["A", "B & b"])
    assert "<h1>A beside B &amp; b: toy, test split</h1>" in page
    for part in page.split("<h3>")[1:]:
        rows = re.findall(r"<tr><td>(.*?)</td>", part)
        by = [re.search(r"<small>([^<]*)first right", row)[1] for row in rows]
        if part.startswith("Queries"):
            assert by == ["A: ", "B &amp; b: "] * 10
            assert [re.sub("<small>.*", "", row) for row in rows[::2]] == [
                re.sub("<small>.*", "", row) for row in rows[1::2]
            ]
        else:
            assert set(by) <= {""}


@pytest.mark.parametrize("labelled", [True, False])
def test_queries_that_flip_are_those_of_compare(run_toy, tmp_path, capsys, labelled):
    run = run_toy(labelled)
    other = Path("embeddings/other/seed0.h5")
    other.parent.mkdir()
    shutil.copy(run.embeddings, other)
    with h5py.File(other, "r+") as file:
        rows = file["test/image/embeddings"]
        rows[:8] = rows[:8][::-1]
    evaluate(EvaluateSpec(), Path("results/runs/other/seed0.json"), other, 0)
    compare("toy", "other", True, None, PARAMS, [])
    # of no experiment, whose task would say so, compare takes the metric of captions
    expected = json.loads(capsys.readouterr().out)["flips"] if not labelled else None
    spec = ExamplesSpec(labels=["A", "B"], dataset="toy", relevance="category")
    show_examples(spec, tmp_path / "toy.html", [run.embeddings, other], run.data.folder)
    page = (tmp_path / "toy.html").read_text(encoding="utf-8")
    metric = "mAP" if labelled else "R@10"
    counts = re.findall(rf"<h3>{metric} above a half by ([AB]) alone: (\d+) queries", page)
    assert [name for name, _ in counts] == ["A", "B"] * 2
    assert any(int(count) for _, count in counts)
    if expected:
        assert [int(count) for _, count in counts] == [
            len(own[run]) for own in expected.values() for run in ("first", "second")
        ]


def test_other_test_rows_beside_are_refused(run_toy, tmp_path):
    run = run_toy()
    other = tmp_path / "other.h5"
    shutil.copy(run.embeddings, other)
    with h5py.File(other, "r+") as file:
        file["test/text/ids"][0] = b"another"
    spec = ExamplesSpec(labels=["A", "B"], dataset="toy", relevance="category")
    with pytest.raises(CrossmodalError, match=r"other\.h5: has other test rows"):
        show_examples(spec, tmp_path / "toy.html", [run.embeddings, other], run.data.folder)
