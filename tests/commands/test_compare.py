import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from crossmodal.commands.compare import compare
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.example_page import RULES
from crossmodal.reporting.query_values import QueryValues, read_query_values, write_query_values

PARAMS = Path(__file__).parents[2] / "params.yaml"


def write_run(name, values, ids="abcdefghij"):
    """Values per query of a run whose two directions have the same recalls."""
    hit = np.array(values, float)
    measured = {f"R@{k}": hit for k in (1, 5, 10)} | {"rank": 2 - hit}
    queries = QueryValues(np.array([*ids]), np.arange(len(hit)), measured)
    path = Path(f"results/runs/{name}.npz")
    write_query_values(path, dict.fromkeys(("a-to-b", "b-to-a"), queries))


def compared(capsys, *names):
    compare(*names, True, None, PARAMS, [])
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_p_is_that_of_the_sign_test_where_all_differ(folder, capsys):
    write_run("one/seed0", [1] * 10)
    write_run("two/seed0", [0] * 10)
    report = compared(capsys, "one", "two/seed0")
    line = next(n for n in report["numbers"] if n["metric"] == "R@1")
    assert (line["first"], line["second"], line["difference"]) == (100, 0, 100)
    assert line["p"] == pytest.approx(2 / 2**10)
    rsum = next(n for n in report["numbers"] if n["metric"] == "rsum")
    assert rsum["difference"] == 600


def test_queries_that_flip_are_named(folder, capsys):
    write_run("one/seed0", [1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    write_run("two/seed0", [1, 0, 1, 1, 0, 0, 0, 0, 0, 0])
    flips = compared(capsys, "one", "two")["flips"]["a-to-b"]
    assert flips == {"metric": "R@10", "first": ["b"], "second": ["c", "d"]}


def test_equal_runs_do_not_differ(folder, capsys):
    write_run("one/seed0", [1, 0] * 5)
    for line in compared(capsys, "one", "one")["numbers"]:
        assert (line["difference"], line["p"]) == (0, 1)


def test_experiments_of_a_grid_are_compared(folder, capsys):
    write_run("ranks-0_01/seed0", [1] * 10)
    write_run("rank-16/seed0", [0] * 10)
    assert compared(capsys, "ranks-0_01", "rank-16/seed0")["numbers"][0]["difference"] == 100


def test_runs_of_other_queries_are_refused(folder):
    write_run("one/seed0", [1] * 10)
    write_run("two/seed0", [1] * 10, ids="klmnopqrst")
    with pytest.raises(CrossmodalError, match="one and two have other test queries"):
        compare("one", "two", True, None, PARAMS, [])


def test_the_page_shows_both_answers_to_queries_that_flip(run_toy, folder, capsys):
    run = run_toy()
    directions = read_query_values(run.metrics.with_suffix(".npz"))
    shutil.copytree(run.embeddings.parent, "embeddings/other")
    worse = {
        name: QueryValues(q.ids, q.items, q.values | {"R@10": np.zeros(len(q.ids))})
        for name, q in directions.items()
    }
    write_query_values(Path("results/runs/other/seed0.npz"), worse)
    compare("toy", "other", False, Path("page.html"), PARAMS, [])
    assert (
        "image-to-text: queries with R@10 above a half in one run alone" in capsys.readouterr().out
    )
    page = Path("page.html").read_text()
    assert "<h1>toy against other</h1>" in page
    labels = re.findall(r"<small>(toy|other): first right", page)
    assert labels
    assert labels[::2] == ["toy"] * (len(labels) // 2)
    assert labels[1::2] == ["other"] * (len(labels) // 2)


@pytest.mark.parametrize("relevance", ["category", "labels"])
def test_page_of_compare_states_what_is_relevant(run_toy, folder, capsys, relevance):
    with h5py.File(run_toy().embeddings, "r+") as file:
        facts = json.loads(file.attrs["model"]) | {"relevance": relevance}
        file.attrs["model"] = json.dumps(facts)
    compare("toy", "toy", False, Path("page.html"), PARAMS, [])
    assert [r for r, rule in RULES.items() if rule in Path("page.html").read_text()] == [relevance]
