"""What the rules hand to a shell."""

import re
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
