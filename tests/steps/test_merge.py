import json

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_csv
from crossmodal.reporting.tables import COLUMNS
from crossmodal.steps.merge import merge


def table(folder, name, *rows):
    """A table with rows of experiment, metric, reproduced."""
    (folder / f"{name}.md").write_text(f"## {name}\n")
    numbers = [
        [name, experiment, "", "", "a-to-b", metric, "", value, "", "", 1, ""]
        for experiment, metric, value in rows
    ]
    write_csv(folder / f"{name}.csv", COLUMNS, numbers)
    return folder / f"{name}.md"


def test_tables_follow_each_other_and_their_numbers_are_joined(tmp_path):
    first = table(tmp_path, "first", ("cca", "mAP", 0.5), ("", "mAP", 0.1), ("cca", "R@1", ""))
    second = table(tmp_path, "second", ("cca", "R@5", 7.0), ("sam", "mAP", 0.6))
    merge(tmp_path / "all.md", tmp_path / "metrics.json", [first, second])
    assert (tmp_path / "all.md").read_text() == "## first\n\n## second\n"
    assert json.loads((tmp_path / "metrics.json").read_text()) == {
        "first": {"cca": {"a-to-b": {"mAP": 0.5}}},
        "second": {"cca": {"a-to-b": {"R@5": 7.0}}, "sam": {"a-to-b": {"mAP": 0.6}}},
    }


def test_a_number_of_two_tables_is_there_of_each(tmp_path):
    """Tables in folds, and intra-modal ones, have other averages of the same experiments."""
    tables = [
        table(tmp_path, *of)
        for of in (("one", ("cca", "mAP", 0.5)), ("folds", ("cca", "mAP", 0.7)))
    ]
    merge(tmp_path / "all.md", tmp_path / "metrics.json", tables)
    numbers = json.loads((tmp_path / "metrics.json").read_text())
    assert [of["cca"]["a-to-b"]["mAP"] for of in (numbers["one"], numbers["folds"])] == [0.5, 0.7]


def test_an_infinite_number_is_null(tmp_path):
    only = table(tmp_path, "only", ("cca", "MeanR", float("inf")))
    merge(tmp_path / "all.md", tmp_path / "metrics.json", [only])
    text = (tmp_path / "metrics.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["only"]["cca"]["a-to-b"]["MeanR"] is None


def test_a_table_without_numbers_is_named(tmp_path):
    page = table(tmp_path, "first")
    page.with_suffix(".csv").unlink()
    with pytest.raises(CrossmodalError, match=r"first\.csv"):
        merge(tmp_path / "all.md", tmp_path / "metrics.json", [page])
    assert not (tmp_path / "all.md").exists()
