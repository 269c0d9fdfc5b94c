"""The beginning of docs/tutorial.md: its folder, what `init` prints of it, and its change."""

import importlib
import runpy
from pathlib import Path

import pytest

from crossmodal.commands.init import init
from crossmodal.config import params
from tests.project_params import PATH


@pytest.fixture
def tutorial(monkeypatch):
    monkeypatch.syspath_prepend(PATH.parent / "tools")
    return importlib.import_module("tutorial")


def matches(shown, printed):
    """Whether a line is as it was printed, up to an ellipsis."""
    begin, dots, _ = shown.partition(" ...")
    return printed.startswith(begin) if dots else printed == shown


def test_the_folder_of_the_tutorial_begins_as_printed(tutorial, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("crossmodal.commands.init.has_encoder", lambda: False)
    blocks = dict(tutorial.blocks())
    tutorial.write(Path(), "python", blocks["python"])
    runpy.run_path("make_toys.py")
    init(Path("toys"), None, False, PATH)
    shown = blocks[""]
    printed = capsys.readouterr().out.splitlines()
    assert len(shown.splitlines()) == len(printed)
    assert all(map(matches, shown.splitlines(), printed)), printed
    tutorial.write(Path(), "yaml", blocks["yaml"])
    found = params.read(PATH, Path("toys.yaml"))
    assert [*found.tables["toys"].experiments] == ["toys_cca", "toys_sam", "toys_firm"]
    first, _, other = (found.fit(name) for name in found.tables["toys"].experiments)
    assert other.plugin == first.plugin == "cca"
    assert other.options == first.options | {"ridge": 1.0}
