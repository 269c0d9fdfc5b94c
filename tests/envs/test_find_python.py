"""The interpreter that `make` takes, among stand-ins that only tell their version."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIND_PYTHON = Path(__file__).parents[2] / "envs/find_python"
# fails where the version is compared, and prints it where it is asked for
TOO_OLD = '#!/bin/sh\ncase "$2" in *exit*) exit 1 ;; esac\necho 3.10.12\n'
FITS = "#!/bin/sh\n"


@pytest.fixture
def find(tmp_path):
    def find(*arguments, **interpreters):
        for name, script in interpreters.items():
            (tmp_path / name.replace("_", ".")).write_text(script)
            (tmp_path / name.replace("_", ".")).chmod(0o755)
        return subprocess.run(
            ["/bin/sh", FIND_PYTHON, *arguments],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )

    return find


def test_python3_is_taken_if_it_fits(find):
    assert find(python3=FITS, python3_14=FITS).stdout == "python3\n"


def test_otherwise_the_newest_that_fits(find):
    found = find(python3=TOO_OLD, python3_14=TOO_OLD, python3_12=FITS, python3_11=FITS)
    assert (found.stdout, found.stderr) == ("python3.12\n", "")


def test_missing_python_is_one_sentence_with_remedy(find):
    found = find(python3=TOO_OLD)
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.startswith("error: Python 3.11 to 3.14 is needed, and python3 is 3.10.12:")
    assert "apt install" in found.stderr
    assert found.stderr.count("\n") == 1


def test_without_any_it_says_so(find):
    assert "python3 is not there: install one" in find().stderr


def test_the_one_that_is_named_is_taken_or_nothing(find):
    assert find("python3.11", python3=FITS, python3_11=FITS).stdout == "python3.11\n"
    assert "python3.9 is not there" in find("python3.9").stderr


def test_a_real_interpreter_is_asked():
    found = subprocess.run([FIND_PYTHON, sys.executable], capture_output=True, text=True)
    assert found.stdout.strip() == sys.executable
    assert os.access(FIND_PYTHON, os.X_OK)
