"""docs/tutorial.md, from its first command to its last."""

import csv
import importlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SMALL = "seeds: 1\nmethods:\n  sam: {epochs: 5}\n"


def test_the_commands_of_the_tutorial_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    printed = importlib.import_module("tutorial").run_all(tmp_path, SMALL)
    first, *_, last = printed.values()
    assert not first
    assert "toys_firm" in last
    assert "p" in last.split()
    for page in ("results/examples/toys_cca.html", "results/examples/toys_firm.html", "flips.html"):
        assert (tmp_path / page).stat().st_size
    with (tmp_path / "results/tables/toys.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["metric"] == "mAP"]
    measured = {row["row"]: float(row["reproduced"]) for row in rows}
    assert {"CCA", "SAM", "CCA, ridge 1"} <= measured.keys()
    assert measured["CCA, ridge 1"] != measured["CCA"]
