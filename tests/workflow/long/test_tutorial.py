"""docs/tutorial.md, from its first command to its last, by the wheel and in an empty folder."""

import csv
import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.test_distribution import built  # noqa: F401

ROOT = Path(__file__).parents[3]
SMALL = "seeds: 1\nmethods:\n  sam: {epochs: 5}\n"
CODE = {"Snakefile", "rules", "src", "params.yaml", "experiments", ".dvcignore"}


def test_the_commands_of_the_tutorial_run_as_printed(built, tmp_path, monkeypatch):  # noqa: F811
    site, folder = tmp_path / "site", tmp_path / "empty"
    zipfile.ZipFile(built[0]).extractall(site)
    folder.mkdir()
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(site))
    where = (sys.executable, "-c", "import crossmodal; print(crossmodal.__file__)")
    assert subprocess.check_output(where, cwd=folder, text=True).startswith(str(site))
    printed = importlib.import_module("tutorial").run_all(folder, SMALL)
    assert not CODE & {path.name for path in folder.iterdir()}
    assert "crossmodal run --cores 8 results/tables/toys.md" in printed["crossmodal init toys"]
    first, *_, last = printed.values()
    assert not first
    assert "toys_firm" in last
    assert "p" in last.split()
    for page in ("results/examples/toys_cca.html", "results/examples/toys_firm.html", "flips.html"):
        assert (folder / page).stat().st_size
    with (folder / "results/tables/toys.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["metric"] == "mAP"]
    measured = {row["row"]: float(row["reproduced"]) for row in rows}
    assert {"CCA", "SAM", "CCA, ridge 1"} <= measured.keys()
    assert measured["CCA, ridge 1"] != measured["CCA"]
