"""The start with arrays, as README prints it."""

from pathlib import Path

from typer.testing import CliRunner

from crossmodal.cli import app
from crossmodal.config import params
from crossmodal.data.prepared import Prepared
from tests.commands.own_runs import run
from tests.project_params import PATH
from tests.starts import ARRAYS, steps, write_arrays


def test_the_start_of_readme_runs_as_printed():
    write_arrays(Path())
    _, init, snakemake, search = (command for command, _ in steps(ARRAYS))
    printed = call(init, "--params", str(PATH))
    assert snakemake.partition(" ")[2] in printed
    overlay = Path(snakemake.split()[-1])
    found = params.read(PATH, overlay)
    shown = found.tables[Path(snakemake.split()[3]).stem].experiments
    assert [found.experiments[name].method for name in shown] == [
        *("frozen", "cca", "ridge", "en", "sam")
    ]
    measured = {name: run(found, name)["test"]["average"]["mAP"] for name in shown[:3]}
    # random maps have no common space, until one is learnt
    assert measured["clip_cca"] > measured["clip_frozen"] + 0.1
    results = call(search, "--params", str(PATH))
    assert "best items by row" in results
    split = Prepared("data/prepared/clip").splits["beach1"]
    by_item = call(
        search.replace("--row clip_images.npy:0", f"--item beach1 --split {split}"),
        *("--params", str(PATH)),
    )
    assert "best items by item" in by_item


def call(command, *options):
    result = CliRunner().invoke(app, [*command.split()[1:], *options])
    assert result.exit_code == 0, result.output
    return result.output
