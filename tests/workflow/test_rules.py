"""What the rules hand to a shell."""

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "rules").glob("*.smk"))
SHELL = re.compile(r"^    shell:\n((?: {8}.*\n)+)", re.MULTILINE)
VALUE = re.compile(r"(?<!\{)\{([^{}]+)\}")


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_every_value_is_quoted(path):
    commands = "".join(SHELL.findall(path.read_text()))
    assert [value for value in VALUE.findall(commands) if not value.endswith(":q")] == []


def test_the_source_is_found_in_a_folder_of_any_name():
    (call,) = re.findall(r"shell\.prefix\((.*)\)", (ROOT / "rules/common.smk").read_text())
    source = "/o'brien/a {b} $HOME/src"
    prefix = eval(call, {"quote": shlex.quote, "seen": str, "SOURCE": source})
    command = ["bash", "-c", f'{prefix}printf %s "$PYTHONPATH"']
    assert subprocess.run(command, capture_output=True, text=True).stdout == source


def test_commands_are_found():
    assert sum(len(SHELL.findall(path.read_text())) for path in RULES) >= 10


@pytest.mark.parametrize(
    ("gpus", "start"),
    [(0, "python"), (1, "python"), (4, "python -m crossmodal.training.launcher 4")],
)
def test_the_launcher_starts_a_fit_on_several_gpus(gpus, start):
    (path,) = (path for path in RULES if path.stem == "train")
    command = ast.literal_eval(f"({SHELL.findall(path.read_text())[0]})")
    filled = VALUE.sub("x", command.replace("{resources.gpu:q}", str(gpus)))
    stubs = "python() { echo python $@; }; tee() { cat; };"
    done = subprocess.run(["bash", "-euc", stubs + filled], capture_output=True, text=True)
    assert done.stdout.startswith(f"{start} -m crossmodal train x x --seed x")


EXPERIMENT = {
    "label": "Ridge",
    "dataset": "scenes",
    "views": {"image": "lite0_fne_z", "text": "bow_item"},
    "relevance": "category",
    "method": "ridge",
    "options": {"penalty": 0.01, "normalise": True, "intercept": True, "scaling": "zscore"},
    "published": {
        "paper": "SAM",
        "table": "Table 1",
        "dataset": "Pascal Sentences",
        "method": "CCA",
    },
}
METRICS = {"mAP": 0.5, "queries": 200, "gallery": 200}
TEST = dict.fromkeys(("image-to-text", "text-to-image", "average"), METRICS)
CONTROLS = dict.fromkeys(("random", "constant", "perfect"), TEST)
FACTS = {"plugin": "ridge", "options": {}, "relevance": "category", "seed": 0}
RUN = {
    "test": TEST,
    "controls": CONTROLS,
    "model": FACTS,
    "spread_of_chance": {},
    "test_items": 200,
}


def test_a_table_may_have_more_rows_than_an_argument_holds(tmp_path):
    names = [f"ridge-{number}" for number in range(400)]
    runs = [f"results/runs/{name}/seed0.json" for name in names]
    for path in runs:
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(json.dumps(RUN))
    spec = {
        "table": {"title": "Many rows", "experiments": names, "metrics": ["mAP"]},
        "experiments": dict.fromkeys(names, EXPERIMENT),
        **{"deterministic": names, "departures": [], "figures": {}},
    }
    text = json.dumps(spec)
    assert len(text) > 1 << 17  # bytes that Linux hands over as one argument
    values = {"params.spec": text, "output.page": "many.md", "output.numbers": "many.csv"}
    values |= {"input.runs": runs}
    values = {f"{k}:q": shlex.join([v] if isinstance(v, str) else v) for k, v in values.items()}
    rules = (ROOT / "rules/evaluate.smk").read_text()
    command = ast.literal_eval(f"({SHELL.findall(rules[rules.index('rule tabulate:') :])[0]})")
    filled = VALUE.sub(lambda value: values.get(value[1], "log"), command)
    script = tmp_path / "script.sh"  # as Snakemake writes a long command
    script.write_text(f'set -euo pipefail; python() {{ {sys.executable} "$@"; }}; {filled}')
    done = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "many.md").read_text().count("\n| Ridge ") == len(TEST) * len(names)
