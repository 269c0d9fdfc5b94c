"""The workflow in folders that are no checkout: by the wheel, and as a module of another one."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.starts import write_holiday
from tests.test_distribution import built  # noqa: F401
from tests.workflow.project import PARAMS, ROOT, PlainDumper

HOST = """
configfile: "config.yaml"


rule copy:
    input:
        "results/tables/own.md",
    output:
        "copy.md",
    shell:
        "cp {{input}} {{output}}"


module crossmodal:
    snakefile:
        "{snakefile}"
    config:
        config["crossmodal"]


use rule * from crossmodal as crossmodal_*
"""

SHORT = "seeds: 1\nmethods:\n  sam: {epochs: 3}\n"  # for the sake of time


def call(folder, *command, site=None):
    """What a command prints that succeeds in a folder, with a folder of packages."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(site or "")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def site(built, tmp_path):  # noqa: F811
    """The wheel's files in a folder of packages."""
    zipfile.ZipFile(built[0]).extractall(tmp_path / "site")
    return tmp_path / "site"


def test_the_wheel_runs_own_data_in_an_empty_folder(site, tmp_path):
    folder = tmp_path / "empty"
    write_holiday(folder)
    crossmodal = (sys.executable, "-m", "crossmodal")
    printed = call(folder, *crossmodal, "init", "holiday", site=site)
    assert "crossmodal run --cores 8 results/tables/holiday.md" in printed
    with (folder / "holiday.yaml").open("a") as stream:
        stream.write(SHORT)
    call(folder, *crossmodal, "run", "results/tables/holiday.md", "--cores", "2", site=site)
    assert "| CCA |" in (folder / "results/tables/holiday.md").read_text()
    code = {"Snakefile", "rules", "src", "params.yaml", "experiments", ".dvcignore"}
    assert not code & {path.name for path in folder.iterdir()}


def own_config():
    """An experiment of small data, laid over the workflow's params.yaml."""
    features = {"own_layers": {"plugin": "activations", **PARAMS["features"]["activations"]}}
    features["own_fc7"] = {"plugin": "fc7", "activations": "own_layers", "normalise": True}
    features["own_words"] = {"plugin": "bow", **PARAMS["features"]["bow"]}
    views = {"image": "own_fc7", "text": "own_words"}
    return {
        "suite": "own",
        "suites": {"own": ["own"]},
        "seeds": 1,
        "datasets": {"own": {"plugin": "scenes", **PARAMS["datasets"]["scenes"], "train": 60}},
        "features": features,
        "experiments": {"own": PARAMS["experiments"]["cca"] | {"dataset": "own", "views": views}},
        "tables": {"own": PARAMS["tables"]["small"] | {"experiments": ["own"]}},
    }


def test_another_workflow_takes_it_as_a_module(tmp_path):
    content = {"samples": ["a"], "crossmodal": own_config()}
    (tmp_path / "config.yaml").write_text(yaml.dump(content, Dumper=PlainDumper))
    (tmp_path / "Snakefile").write_text(HOST.format(snakefile=ROOT / "workflow/Snakefile"))
    call(tmp_path, "snakemake", "--cores", "2")
    assert "| CCA |" in (tmp_path / "copy.md").read_text()
    assert "Nothing to be done" in call(tmp_path, "snakemake", "--cores", "2")
