"""The start with a Hugging Face folder, as README prints it."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from crossmodal.cli import app
from crossmodal.config import params
from crossmodal.data.prepared import Prepared
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.datasets.formats.samples import COUNT, content, lines
from tests.project_params import PATH

README = Path(__file__).parents[3] / "README.md"
START = re.search(r"```sh\nhead -1 (\S+)\n# (.*)\n((?:.*\n)*?)```", README.read_text())


def test_the_start_of_readme_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place, first, commands = START.groups()
    example = json.loads(first)
    records = [
        example | {"file_name": f"{'train' if n < 8 else 'test'}/{n}.png"} for n in range(12)
    ]
    lines(Path(place), [example, *records[2:]])
    for n, record in enumerate([example, *records[2:]]):
        path = Path(place).parent / record["file_name"]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content(n))
    init, run = commands.splitlines()
    result = CliRunner().invoke(app, [*init.split()[1:], "--params", str(PATH)])
    assert result.exit_code == 0, result.output
    assert run.removeprefix("snakemake ") in result.output  # or `crossmodal run`, elsewhere
    overlay = Path(run.split()[-1])
    found = params.read(PATH, overlay)
    assert Path(run.split()[3]).stem in found.tables
    options = found.plugin("datasets", "dogs")["options"]
    prepare(PrepareSpec(plugin="folder", options=options), Path("unread"), Path("prepared"))
    dataset = Prepared("prepared")
    assert len(dataset.items) == COUNT - 1
    (item,) = (item for item in dataset.items if item.id == "train/1")
    assert [c.text for c in dataset.captions_of[item.id]] == example["text"]
    assert {*dataset.splits.values()} == {"train", "validation", "test"}
