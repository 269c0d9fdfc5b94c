"""What the runner of all benchmarks keeps, and the page that it writes."""

import sys

import pytest

from benchmarks import all as runner
from benchmarks.ratio import Row, in_turns, not_measured, shown
from crossmodal.io.files import read_json, write_json

FAST = Row("Search", "10 x 10", "peer 1.0", 0.5, 2.0, "exact")
ABSENT = not_measured("CCA", "3 pairs", "other", "`pip install other`")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project without rows, and two benchmarks."""
    monkeypatch.setattr(runner, "MEASURED", tmp_path / "measured")
    monkeypatch.setattr(runner, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(runner, "NAMES", ("first", "second"))
    return tmp_path


def keep(name, where, *rows):
    write_json(runner.file_of(name), {"machine": where, "rows": [vars(row) for row in rows]})


def test_ratio_above_one_says_that_ours_is_faster():
    assert Row("", "", "", 0.5, 2.0).ratio == "4.0"
    assert Row("", "", "", 3.0, 2.0).ratio == "0.67"
    assert Row("", "", "", 1e-3, 2.0).ratio == "2,000"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (192.4, "192 s"), (0.0123, "12.3 ms"), (2.5e-6, "2.50 µs"), (2e-8, "0.0200 µs")],
)
def test_times_have_three_digits_and_a_unit(seconds, text):
    assert shown(seconds) == text


def test_works_take_turns_and_the_best_round_counts():
    times, calls = iter([0, 5, 5, 6, 10, 12, 20, 29]), []
    works = (lambda: calls.append("ours"), lambda: calls.append("theirs"))
    assert in_turns(*works, rounds=2, clock=lambda: next(times)) == [2, 1]
    assert calls == ["ours", "theirs"] * 2


def test_row_of_an_absent_peer_says_what_to_install(folder):
    keep("first", "a", ABSENT)
    assert "| CCA | 3 pairs | other |  |  |  | not measured: `pip install other` |" in runner.page()


def test_a_package_that_is_absent_is_no_failure(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "benchmarks.search", raising=False)
    [row] = runner.rows_of("search")
    assert row["peer"] == "faiss"
    assert row["note"].startswith("not measured: `pip install")


def test_rows_stand_under_the_machine_that_measured_them(folder):
    keep("first", "b", FAST)
    keep("second", "a", ABSENT)
    headings = [line for line in runner.page().splitlines() if line.startswith("## ")]
    assert headings == ["## a", "## b"]
    keep("second", "b", ABSENT)
    page = runner.page()
    assert page.count("## ") == 1
    assert page.index("Search") < page.index("CCA")
    assert "| Search | 10 x 10 | peer 1.0 | 500 ms | 2.00 s | 4.0 | exact |\n" in page


def test_what_fails_is_named_and_the_others_are_kept(folder, monkeypatch):
    def measure(name):
        if name == "first":
            raise OSError
        keep(name, "a", FAST)

    monkeypatch.setattr(runner, "measure", measure)
    with pytest.raises(SystemExit, match="failed: first"):
        runner.main([])
    assert read_json(runner.file_of("second"))["rows"] == [vars(FAST)]
    assert "Search" in runner.PAGE.read_text()
    assert "Not measured yet: `first`" in runner.PAGE.read_text()


def test_the_page_is_that_of_the_rows_that_are_kept():
    assert runner.PAGE.read_text() == runner.page()


@pytest.mark.parametrize("name", runner.NAMES)
def test_each_benchmark_gives_ratios(name):
    source = (runner.ROOT / f"benchmarks/{name}.py").read_text()
    assert "\ndef ratios():\n" in source
    assert "Run: " in source
