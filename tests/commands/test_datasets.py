from types import SimpleNamespace

import pytest

from crossmodal.commands.datasets import COLUMNS, datasets, survey
from crossmodal.data.dataset import Source
from crossmodal.data.fetching import MIRROR
from crossmodal.data.prepared import FILES

FORM = Source("form.zip", help="Sign the form at https://example.org/form.", bytes=3_000_000)
OPEN = Source("open.zip", ("https://example.org/open.zip",), sha256="0" * 64)
DATASETS = {
    "made": SimpleNamespace(
        sources=(), licence="CC0-1.0", citation="this project", redistribution=True
    ),
    "asked": SimpleNamespace(
        sources=(OPEN, FORM),
        licence="research only",
        citation="A. Author, A dataset, 2010",
        redistribution=False,
    ),
}


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch):
    monkeypatch.delenv(MIRROR, raising=False)


def params(mirror=None, plugin="asking"):
    return SimpleNamespace(
        datasets=DATASETS,
        usable=lambda kind: [*DATASETS],
        dataset_of=DATASETS.get,
        plugin=lambda kind, name: {"plugin": {"asked": plugin}.get(name, name)},
        mirror=mirror,
    )


def rows(params):
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in survey(params)[0]]


def write(path, size=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))


def test_every_dataset_has_a_row_with_its_licence():
    assert [(row["dataset"], row["licence"], row["redistributable"]) for row in rows(params())] == [
        ("made", "CC0-1.0", "yes"),
        ("asked", "research only", "no"),
    ]


def test_what_is_there_is_counted(tmp_path):
    write(tmp_path / "data/raw/asking/form.zip", 1500)
    write(tmp_path / "data/raw/asking/other.zip", 300)
    for name in FILES:
        write(tmp_path / "data/prepared/asked" / name, 50)
    write(tmp_path / "data/prepared/made" / FILES[0])
    found = [(r["raw files"], r["prepared"], r["on disk"]) for r in rows(params())]
    assert found == [("0/0", "no", "1 byte"), ("1/2", "yes", "2.0 kB")]


def test_files_without_a_published_checksum_are_counted(tmp_path):
    assert [row["no published checksum"] for row in rows(params())] == ["", "1, recorded 0"]
    (tmp_path / "checksums.json").write_text('{"asking/form.zip": "0", "asking/open.zip": "0"}')
    assert [row["no published checksum"] for row in rows(params())] == ["", "1, recorded 1"]


def test_what_is_missing_has_a_size_where_all_of_it_is_known(tmp_path):
    assert [row["to download"] for row in rows(params())] == ["0 bytes", "unknown"]
    write(tmp_path / "data/raw/asking/open.zip")
    assert rows(params())[1]["to download"] == "3.0 MB"


def test_the_next_step_depends_on_what_is_there(tmp_path):
    command = "crossmodal run --cores 8 data/prepared/asked/items.csv"
    asked = survey(params())[1]["asked"]
    for fragment in ("data/raw/asking", "form.zip (3.0 MB): Sign the form at", f"then {command}"):
        assert fragment in asked
    assert "open.zip" not in asked
    write(tmp_path / "data/raw/asking/form.zip")
    assert survey(params())[1]["asked"] == command
    for name in FILES:
        write(tmp_path / "data/prepared/asked" / name)
    assert survey(params())[1]["asked"] == "crossmodal check asked"


@pytest.mark.parametrize("kind", ["folder", "address", "environment"])
def test_what_a_mirror_has_need_not_be_asked_for(tmp_path, monkeypatch, kind):
    mirror = "https://mirror.example.org" if kind == "address" else str(tmp_path / "mirror")
    write(tmp_path / "mirror/asking/form.zip")
    if kind == "environment":
        monkeypatch.setenv(MIRROR, mirror)
    advice = survey(params(None if kind == "environment" else mirror))[1]
    assert advice["asked"] == "crossmodal run --cores 8 data/prepared/asked/items.csv"


def test_a_mirror_without_the_file_does_not_help(tmp_path):
    (tmp_path / "mirror").mkdir()
    assert "form.zip" in survey(params(str(tmp_path / "mirror")))[1]["asked"]


def test_all_of_it_is_printed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("crossmodal.commands.datasets.read", lambda *files: params())
    datasets(tmp_path / "params.yaml")
    printed = capsys.readouterr().out
    cited = "to cite asked: A. Author, A dataset, 2010"
    for fragment in ("research only", "form.zip", "made: crossmodal run", cited):
        assert fragment in printed


def test_a_broken_dataset_is_told_and_stops_no_list():
    told = params()
    told.usable, told.broken = lambda kind: ["made"], {"datasets.asked": "asking.py:3: mistake"}
    found, advice = survey(told)
    assert [row[0] for row in found] == ["made"]
    assert advice["asked"] == "not usable: asking.py:3: mistake"
