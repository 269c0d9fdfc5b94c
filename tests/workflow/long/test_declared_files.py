"""Each command alone with the files that its rule declares, which are staged in another folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.workflow.long.test_elsewhere import call, own_config
from tests.workflow.project import ROOT, PlainDumper

HOST = """
configfile: "config.yaml"


module crossmodal:
    snakefile:
        "{snakefile}"
    config:
        config
    replace_prefix:
        {prefixes}


use rule * from crossmodal as *
"""
STAGED = "staged"
PREFIXES = {f"{name}/": f"{STAGED}/{name}/" for name in ("data", "features", "models")}
PREFIXES |= {f"{name}/": f"{STAGED}/{name}/" for name in ("embeddings", "results")}
TARGETS = ("results/tables/all.md", "results/tables/claims.md", "results/site/index.html")
TARGETS += ("data/prepared/whole/items.csv",)
NOT_RUN = {"download", "weights", "judge"}  # of published files, which the small data have not
ANSWERS = "query,document\nscene00007,scene00012\n"  # of the test split
JOB = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)+)Shell command: (.*)$", re.MULTILINE)
FIELD = re.compile(r"^    (input|output|log): (.*?)(?: \(check log .*)?$", re.MULTILINE)
RULE = re.compile(r"^(?:use )?rule (?:\w+ as )?(\w+)(?: with)?:\n", re.MULTILINE)


class Job(NamedTuple):
    rule: str
    inputs: list[str]
    outputs: list[str]
    logs: list[str]
    command: str


def planned(folder):
    """All jobs of a workflow."""
    targets = (f"{STAGED}/{target}" for target in TARGETS)
    options = ("--cores", "1", "--dry-run", "--printshellcmds")
    for rule, fields, command in JOB.findall(call(folder, "snakemake", *options, "--", *targets)):
        files = {name: paths.split(", ") for name, paths in FIELD.findall(fields)}
        yield Job(rule, *(files.get(key, []) for key in ("input", "output", "log")), command)


def copy(files, source, target):
    for file in files:
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        if (source / file).is_dir():
            shutil.copytree(source / file, target / file)
        elif not Path(file).is_absolute():
            shutil.copy(source / file, target / file)


def run_alone(job, store, folder):
    """Run a job with its inputs alone, and keep what it makes; what it says if it fails."""
    copy(job.inputs, store, folder)
    for file in (*job.outputs, *job.logs):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
    command = ("bash", "-euo", "pipefail", "-c", job.command)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        return f"{job.rule}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    copy(job.outputs, folder, store)
    return ""


def test_every_command_finds_what_its_rule_declares_alone(tmp_path):
    config = own_config()
    config["features"]["own_words"]["jobs"] = 2
    config["datasets"]["own"]["max_shard_size"] = "100kB"
    config["datasets"]["whole"] = config["datasets"]["own"] | {"max_shard_size": None}
    config["tables"]["within"] = config["tables"]["own"] | {"retrieval": "intra-modal"}
    config["tables"]["folds"] = config["tables"]["own"] | {"folds": 2}
    judged = {"readout": ["own", "posteriors"], "relevance": ["own", "answers.csv"]}
    config["tables"]["own"] |= judged
    config["suites"]["own"] = ["own", "within", "folds"]
    host = tmp_path / "host"
    host.mkdir()
    (host / "config.yaml").write_text(yaml.dump(config, Dumper=PlainDumper))
    snakefile = ROOT / "workflow/Snakefile"
    (host / "Snakefile").write_text(HOST.format(snakefile=snakefile, prefixes=PREFIXES))
    store = tmp_path / "store"
    store.mkdir()
    for folder in (host, store):
        (folder / "answers.csv").write_text(ANSWERS)
    todo, ran = [*planned(host)], set()
    while todo:
        job = next(j for j in todo if all((store / file).exists() for file in j.inputs))
        todo.remove(job)
        folder = tmp_path / f"{len(todo)}-{job.rule}"
        assert run_alone(job, store, folder) == ""
        ran.add(job.rule)
    sources = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    phases = {"acquired", "prepared", "extracted", "trained", "evaluated"}
    assert ran == {*RULE.findall(sources)} - phases - NOT_RUN
    assert "| CCA |" in (store / STAGED / "results/tables/own.md").read_text()
