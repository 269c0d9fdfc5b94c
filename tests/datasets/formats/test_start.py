"""The start with a Hugging Face folder, as README prints it."""

import json
from pathlib import Path

from typer.testing import CliRunner

from crossmodal.cli import app
from crossmodal.config import params
from crossmodal.data.prepared import Prepared
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.project_params import PATH
from tests.starts import HUGGING_FACE, shown, steps, write_dogs


def test_the_start_of_readme_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_dogs(Path())
    _, init, run, search = (command for command, _ in steps(HUGGING_FACE))
    result = CliRunner().invoke(app, [*init.split()[1:], "--params", str(PATH)])
    assert result.exit_code == 0, result.output
    assert run.removeprefix("snakemake ") in result.output  # or `crossmodal run`, elsewhere
    overlay = Path(run.split()[-1])
    found = params.read(PATH, overlay)
    assert Path(run.split()[3]).stem in found.tables
    assert Path(search.split()[2]).parent.name in found.experiments
    options = found.plugin("datasets", "dogs")["options"]
    prepare(PrepareSpec(plugin="folder", options=options), Path("unread"), Path("prepared"))
    dataset = Prepared("prepared")
    place, lines = shown(HUGGING_FACE)
    assert place.read_text().splitlines()[: len(lines)] == lines
    (item,) = (item for item in dataset.items if item.id == "train/1")
    assert [c.text for c in dataset.captions_of[item.id]] == json.loads(lines[0])["text"]
    assert {*dataset.splits.values()} == {"train", "validation", "test"}
