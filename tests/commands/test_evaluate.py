import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from crossmodal.cli import app
from crossmodal.commands.evaluate import evaluate as command
from crossmodal.errors import CrossmodalError
from crossmodal.metrics.evaluation import evaluate


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Embeddings of 20 queries and 30 documents, their labels, grades and qrels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    arrays = {
        "queries": rng.normal(size=(20, 8)).astype(np.float16),
        "gallery": rng.normal(size=(30, 8)).astype(np.float32),
        "grades": rng.choice(3, (20, 30), p=[0.8, 0.1, 0.1]),
    }
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    np.savez("codes.npz", array=rng.integers(256, size=(20, 4), dtype=np.uint8))
    for name, count in (("q", 20), ("d", 30)):
        Path(f"{name}.csv").write_text("id\n" + "".join(f"{name}{n}\n" for n in range(count)))
        arrays[f"{name}_labels"] = np.arange(count) % 4
        Path(f"{name}.txt").write_text("".join(f"{label}\n" for label in np.arange(count) % 4))
    rows = (f"q{q} 0 d{d} {grade}\n" for (q, d), grade in np.ndenumerate(arrays["grades"]))
    Path("qrels.txt").write_text("".join(rows))
    return arrays


def run(*arguments):
    result = CliRunner().invoke(app, ["evaluate", *arguments, "--json"])
    assert result.exit_code == 0, result.exception
    return json.loads(result.output)


IDS = ("--query-ids", "q.csv", "--gallery-ids", "d.csv")


@pytest.mark.parametrize(
    "arguments", [("--relevance", "grades.npy"), ("--relevance", "qrels.txt", *IDS)]
)
def test_files_give_the_values_of_their_arrays(files, arguments):
    expected = evaluate(files["queries"], files["gallery"], files["grades"])
    found = run("queries.npy", "gallery.npy", *arguments)
    assert found["metrics"] == expected.metrics
    assert {name: tuple(pair) for name, pair in found["intervals"].items()} == expected.intervals


def test_labels_scores_and_codes_are_read_from_files(files):
    labels = files["q_labels"], files["d_labels"]
    named = ("--query-ids", "q.txt", "--gallery-ids", "d.txt")
    found = run("queries.npy", "gallery.npy", *named, "--score", "inner")
    expected = evaluate(files["queries"], files["gallery"], labels, score="inner").metrics
    assert found["metrics"] == expected
    scores = np.random.default_rng(1).normal(size=(20, 30))
    np.save("scores.npy", scores)
    assert run("scores.npy", *named)["metrics"] == evaluate(scores, relevance=labels).metrics
    assert run("codes.npz", "codes.npz")["metrics"]["R@1"] > 99


def test_an_array_of_a_file_with_several_is_named(files):
    np.savez("both.npz", queries=files["queries"], gallery=files["gallery"])
    found = run("both.npz:queries", "both.npz:gallery", "--relevance", "grades.npy")
    assert (
        found["metrics"]
        == run("queries.npy", "gallery.npy", "--relevance", "grades.npy")["metrics"]
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 0 d1", "line 602 is no line of qrels"),
        ("q1 0 d1 x", "line 602 is no line of qrels"),
        ("q1 0 d1 -1", "line 602 is no line of qrels: .* a grade of 0 or above"),
        ("q1 0 d1 nan", "line 602 is no line of qrels"),
        ("q1 0 d1 1", "line 602 names 'd1' of 'q1' again; keep one"),
        ("q1 0 d99 1", "line 602 names 'd99', which is no id; add it, or leave the line out"),
        ("q99 0 d1 0", "line 602 names 'q99', which is no id"),
    ],
)
def test_a_line_of_qrels_that_does_not_fit_is_named(line, message):
    with open("qrels.txt", "a", encoding="utf-8") as stream:
        stream.write(f"\n{line}\n")
    paths = [Path("queries.npy"), Path("gallery.npy")]
    with pytest.raises(CrossmodalError, match=rf"qrels\.txt: {message}"):
        command(paths, Path("qrels.txt"), Path("q.csv"), Path("d.csv"), None, False)


def test_an_infinite_rank_is_null_in_json(files, capsys):
    """As of a query without a relevant document."""
    files["grades"][0] = 0
    np.save("grades.npy", files["grades"])
    command([Path("queries.npy"), Path("gallery.npy")], Path("grades.npy"), None, None, None, True)
    read = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert read["metrics"]["MeanR"] is None
    assert read["metrics"]["MedR"] > 0


def test_a_table_of_values_is_printed(capsys):
    command([Path("queries.npy"), Path("gallery.npy")], Path("grades.npy"), None, None, None, False)
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[:3] == ["mAP", "mAP@50", "mAP@100"]
    assert {"MRR", "nDCG@10", "R-precision", "mAP@R", "R@10", "MedR", "queries"} <= {*names}


def test_files_that_do_not_fit_are_named():
    three = [Path("queries.npy")] * 3
    for arguments, message in (
        ((three, None, None, None, None, False), "3 files; give queries and gallery"),
        ((three[:2], None, Path("q.csv"), None, None, False), "give both of --query-ids"),
        ((three[:2], Path("q.txt"), None, None, None, False), "q.txt: line 1 is no line of qrels"),
        (([Path("none.npy")], None, None, None, None, False), "none.npy"),
    ):
        with pytest.raises(CrossmodalError, match=message):
            command(*arguments)
