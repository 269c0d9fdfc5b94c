"""Commands that list the entries of a section."""

import pytest

from crossmodal.commands import listing
from tests.project_params import PARAMS


@pytest.fixture(params=["methods", "features", "tables"])
def lines(request, monkeypatch, tmp_path, capsys):
    """Print the list of a kind; its kind, and the lines below title and header."""
    kind = request.param
    monkeypatch.setattr(listing, "read", lambda *files: PARAMS)

    def run():
        listing.listing(kind, tmp_path / "params.yaml")
        title, header, *lines = capsys.readouterr().out.splitlines()
        assert title == kind
        assert header.startswith(kind[:-1])
        return [line for line in lines if line[0] != " "]

    return kind, run


def facts(kind):
    _, rows = listing.SECTIONS[kind]
    return {name: facts for name, *facts in rows(PARAMS)}


def test_listing_each_entry(lines):
    kind, run = lines
    assert [line.split()[0] for line in run()] == [*getattr(PARAMS, kind)]


def test_listing_broken_entry(lines, monkeypatch):
    kind, run = lines
    if kind == "tables":
        pytest.skip("tables have no plug-in")
    broken, *others = getattr(PARAMS, kind)
    monkeypatch.setitem(PARAMS.broken, f"{kind}.{broken}", "sam.py:7: no module named 'x'")
    *rows, last = run()
    assert last == f"{broken}: not usable: sam.py:7: no module named 'x'"
    assert [line.split()[0] for line in rows] == others


def test_methods_columns():
    rows = facts("methods")
    assert rows["cca"][:5] == ["any: vector", "labels", "no", "no", "CCA"]
    assert rows["vase"][:3] == ["image: vector; speech: sequence", "pairs", "yes"]
    assert rows["cca"][5].startswith("CCA: linear maps")


def test_features_columns():
    rows = facts("features")
    assert rows["lite0_fne"][:4] == ["image", "vector", "item", "lite0_activations"]
    assert rows["lite0_activations"][3].endswith(".safetensors")


def test_tables_columns():
    assert facts("tables")["scenes_captions"] == [
        "scenes",
        str(len(PARAMS.tables["scenes_captions"].experiments)),
        "demo, fne",
        "Scenes, images and captions",
    ]
