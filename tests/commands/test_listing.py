import pytest

from crossmodal.commands import listing
from tests.project_params import PARAMS


@pytest.mark.parametrize("kind", ["methods", "features", "tables"])
def test_every_entry_has_a_line(kind, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(listing, "read", lambda *files: PARAMS)
    getattr(listing, kind)(tmp_path / "params.yaml")
    title, header, *lines = capsys.readouterr().out.splitlines()
    assert title == kind
    assert header.startswith(kind[:-1])
    assert [line.split()[0] for line in lines if line[0] != " "] == [*getattr(PARAMS, kind)]


def test_a_method_says_what_it_retrieves_and_what_it_is():
    rows = {name: facts for name, *facts in listing.method_rows(PARAMS)}
    assert rows["cca"][:5] == ["any: vector", "labels", "no", "no", "CCA"]
    assert rows["vase"][:3] == ["image: vector; speech: sequence", "pairs", "yes"]
    assert rows["cca"][5].startswith("CCA: linear maps")


def test_a_feature_says_what_it_is_computed_from():
    rows = {name: facts for name, *facts in listing.feature_rows(PARAMS)}
    assert rows["lite0_fne"][:4] == ["image", "vector", "item", "lite0_activations"]
    assert rows["lite0_activations"][3].endswith(".safetensors")


def test_a_table_says_which_suites_show_it():
    rows = {name: facts for name, *facts in listing.table_rows(PARAMS)}
    assert rows["scenes_captions"] == [
        "scenes",
        str(len(PARAMS.tables["scenes_captions"].experiments)),
        "demo, fne",
        "Scenes, images and captions",
    ]


@pytest.mark.parametrize(("kind", "name"), [("methods", "sam"), ("features", "lite0_fne")])
def test_a_broken_entry_is_told_and_stops_no_list(kind, name, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(PARAMS.broken, f"{kind}.{name}", "sam.py:7: no module named 'x'")
    monkeypatch.setattr(listing, "read", lambda *files: PARAMS)
    getattr(listing, kind)(tmp_path / "params.yaml")
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"{name}: not usable: sam.py:7: no module named 'x'"
    listed = [line.split()[0] for line in lines[2:] if line[0] != " "]
    assert listed == [entry for entry in getattr(PARAMS, kind) if entry != name]
