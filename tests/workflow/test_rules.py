"""What the rules hand to a shell."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

RULES = sorted((Path(__file__).parents[2] / "rules").glob("*.smk"))
SHELL = re.compile(r"^    shell:\n((?: {8}.*\n)+)", re.MULTILINE)
VALUE = re.compile(r"(?<!\{)\{([^{}]+)\}")


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_every_value_is_quoted(path):
    commands = "".join(SHELL.findall(path.read_text()))
    assert [value for value in VALUE.findall(commands) if not value.endswith(":q")] == []


def test_commands_are_found():
    assert sum(len(SHELL.findall(path.read_text())) for path in RULES) >= 10


@pytest.mark.parametrize(
    ("gpus", "start"),
    [(0, "python"), (1, "python"), (4, "torchrun --standalone --nproc-per-node 4")],
)
def test_torchrun_starts_a_fit_on_several_gpus(gpus, start):
    (path,) = (path for path in RULES if path.stem == "train")
    command = ast.literal_eval(f"({SHELL.findall(path.read_text())[0]})")
    filled = VALUE.sub("x", command.replace("{resources.gpu:q}", str(gpus)))
    stubs = "python() { echo python $@; }; torchrun() { echo torchrun $@; }; tee() { cat; };"
    done = subprocess.run(["bash", "-euc", stubs + filled], capture_output=True, text=True)
    assert done.stdout.startswith(f"{start} -m crossmodal train x x --seed x")
