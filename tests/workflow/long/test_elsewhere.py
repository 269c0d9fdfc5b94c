"""The workflow as a module of another one."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

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


def call(folder, *command):
    """What a command prints that succeeds in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


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
