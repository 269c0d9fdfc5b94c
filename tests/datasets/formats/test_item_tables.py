"""Tables of other formats: what a row says, and which rows are refused."""

from pathlib import Path

import openpyxl
import pytest

from crossmodal.datasets._formats.reading import read_source
from tests.datasets.formats.samples import COUNT, photos, refused

NAMES = [f"i{n}.png" for n in range(COUNT)]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(path, header, *rows):
    """Write a CSV of twelve pictures with captions and labels, and further rows."""
    photos(Path("own"), NAMES)
    whole = [f"{name},a circle {n},circle" for n, name in enumerate(NAMES)]
    Path(path).write_text("\n".join([header, *whole, *rows]))


CUT = {
    "4 fields, but 3 columns": "i3.png,a green circle, with sand,circle",
    "2 fields, but 3 columns": "i3.png,a green circle",
    "has a NUL character": "i3.png,a green\0 circle,circle",
}


@pytest.mark.parametrize("reason", CUT)
@pytest.mark.parametrize(
    ("path", "header"),
    [("own/metadata.csv", "file_name,text,label"), ("own/list.csv", "path,caption,class")],
)
def test_rows_of_other_lengths_are_malformed(path, header, reason):
    table(path, header, CUT[reason])
    name = "own" if path.endswith("metadata.csv") else path
    assert f"{path}: row 14" in refused(name)
    assert reason in refused(name)
    assert len(read_source(Path(name)).rows) == COUNT


def test_separators_behind_the_last_column_are_allowed():
    table("own/list.csv", "path,caption,class,,", "i3.png,a green circle,circle,")
    source = read_source(Path("own/list.csv"))
    assert (len(source.rows), source.bad.errors) == (COUNT + 1, [])


def test_columns_are_known_though_the_first_row_is_malformed():
    Path("list.csv").write_text("path,caption,class\ni3.png,a green circle\n")
    assert "list.csv: row 2: 2 fields, but 3 columns" in refused("list.csv")


@pytest.mark.parametrize("header", ["file_name,text,text", "file_name,text,Text"])
def test_repeated_columns_are_refused(header):
    table("own/metadata.csv", header)
    assert "own/metadata.csv: column 'text' is repeated" in refused("own")
    book = openpyxl.Workbook()
    for line in Path("own/metadata.csv").read_text().splitlines():
        book.active.append(line.split(","))
    book.save("own/a.xlsx")
    assert "own/a.xlsx: column 'text' is repeated" in refused("own/a.xlsx")
