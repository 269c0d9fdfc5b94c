"""The start with arrays, as README prints it."""

import csv
import re
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from crossmodal.cli import app
from crossmodal.config import params
from crossmodal.data.prepared import Prepared
from tests.commands.own_runs import run
from tests.project_params import PATH

README = Path(__file__).parents[2] / "README.md"
START = re.search(r"```sh\nhead -2 (\S+)\n((?:# .*\n)*)((?:.*\n)*?)```", README.read_text())
KINDS, EACH = 3, 20


def test_the_start_of_readme_runs_as_printed():
    place, lines, commands = START.groups()
    header, first = (line.removeprefix("# ").split(",") for line in lines.splitlines())
    count = KINDS * EACH
    kinds = [first[1], *(f"kind{n}" for n in range(1, KINDS))]
    rows = [[f"item{n}", kinds[n % KINDS]] for n in range(count)]
    with open(place, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, first, *rows[1:]])
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(count, 6)) + 3 * np.eye(6)[np.arange(count) % KINDS]
    init, snakemake, search = commands.splitlines()
    for option in ("--image-features", "--text-features"):
        file = init.split()[init.split().index(option) + 1]
        np.save(file, hidden @ rng.normal(size=(6, 16)) + 0.1 * rng.normal(size=(count, 16)))
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
