"""Each measurement on a few items, and the table of them."""

from time import process_time

import numpy as np
import pytest

from benchmarks import growing_work
from benchmarks.growth import COSTS, Cost, row, slope, timed
from crossmodal.config.params import read
from tests.project_params import PARAMS

COMMANDS = {"dry_run", "check", "own"}
FEW = {"near_duplicates": 200, "index": 400, "evaluate_some": growing_work.QUERIES}


@pytest.mark.parametrize("exponent", [0.5, 1, 2])
def test_the_slope_is_the_exponent(exponent):
    sizes = [3, 10, 50]
    assert slope(sizes, [7 * size**exponent for size in sizes]) == pytest.approx(exponent)


def test_a_constant_flattens_the_slope():
    assert 0 < slope([1, 2, 4], [101, 102, 104]) < 0.1


@pytest.mark.parametrize("name", sorted(COSTS.keys() - COMMANDS))
def test_work_is_done_on_a_few_items(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    count = FEW.get(name, 40)
    COSTS[name].make(count)
    COSTS[name].work(count)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_do_their_work(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(growing_work, "ENCODERS", PARAMS.suites.keys() - {"sam"})  # one suite
    count = {"own": 60}.get(name, 1)
    COSTS[name].make(count)
    COSTS[name].work(count)


def test_copies_of_the_suites_have_all_their_experiments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    growing_work.make_suites(2)
    paths = (tmp_path / "tables.txt").read_text().split()
    project = read(tmp_path / "params.yaml")
    tables = [project.tables[path.removeprefix("results/tables/")[:-3]] for path in paths]
    first, second = tables[: len(tables) // 2], tables[len(tables) // 2 :]
    assert [len(t.experiments) for t in first] == [len(t.experiments) for t in second]
    members = {name for table in tables for name in table.experiments}
    assert len(members) == 2 * len({name for table in first for name in table.experiments})


def spin(size):
    """Work that takes `size` hundredths of a second of the processor."""
    rows = np.ones((200, 200))
    end = process_time() + size / 100
    while process_time() < end:
        rows @ rows


def test_rows_have_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cost = Cost("work; hundredths", (5, 10, 20), print, spin, "a clock")
    measured = [timed(cost.work, str(tmp_path), size) for size in cost.sizes]
    assert [seconds for seconds, _ in measured] == pytest.approx([0.05, 0.1, 0.2], abs=0.05)
    cells = row(cost, measured).split(" | ")
    assert cells[:2] == ["| work; hundredths", "5 / 10 / 20"]
    assert 0.5 < float(cells[4]) < 1.5
    assert cells[5] == "a clock |\n"
