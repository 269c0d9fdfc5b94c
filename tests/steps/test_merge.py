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
        "cca": {"a-to-b": {"mAP": 0.5, "R@5": 7.0}},
        "sam": {"a-to-b": {"mAP": 0.6}},
    }


def test_a_table_without_numbers_is_named(tmp_path):
    page = table(tmp_path, "first")
    page.with_suffix(".csv").unlink()
    with pytest.raises(CrossmodalError, match=r"first\.csv"):
        merge(tmp_path / "all.md", tmp_path / "metrics.json", [page])
    assert not (tmp_path / "all.md").exists()
