"""What the locks hold, as far as it can be told without an index; `make lock-check` asks one."""

import re
from pathlib import Path

import pytest
import yaml

from envs import lock

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", [*lock.LOCKS, lock.CUDA])
def test_every_pin_is_for_some_target(name):
    assert all(map(lock.holds_somewhere, lock.read(name)))


@pytest.mark.parametrize("name", [*lock.LOCKS, lock.CUDA])
def test_every_pin_has_the_hashes_of_its_files(name):
    entry = re.compile(r"[\w.-]+==\S+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+")
    entries = lock.ENTRY.findall((ROOT / name).read_text())
    assert len(entries) == len(lock.read(name)) >= 10
    assert all(map(entry.fullmatch, entries))


def test_pins_of_other_systems_and_versions_are_for_none():
    assert not lock.holds_somewhere("pywin32==312 ; sys_platform == 'win32'")
    assert not lock.holds_somewhere("a==1 ; python_full_version < '3.11'")
    assert lock.holds_somewhere("a==1 ; python_full_version < '3.12' and sys_platform != 'linux'")


@pytest.mark.parametrize("name", lock.LOCKS)
def test_cuda_is_pinned_apart(name):
    assert not [pin for pin in lock.read(name) if "nvidia" in pin or "cuda" in pin]


def test_cuda_is_for_linux_alone():
    pins = lock.read(lock.CUDA)
    assert len(pins) >= 10
    assert all("sys_platform == 'linux'" in pin.partition(" ; ")[2] for pin in pins)


def test_all_name_the_same_versions_of_python():
    first, last = lock.VERSIONS[0], lock.VERSIONS[-1]
    after = f"3.{int(last.split('.')[1]) + 1}"
    assert f'requires-python = ">={first},<{after}"' in (ROOT / "pyproject.toml").read_text()
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert tuple(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == lock.VERSIONS
    assert f"VERSIONS := {' '.join(lock.VERSIONS)}\n" in (ROOT / "Makefile").read_text()
    script = (ROOT / "envs/find_python").read_text()
    bounds = re.search(r"\((\d), (\d+)\) <= .* <= \((\d), (\d+)\)", script)
    assert bounds.groups() == (*first.split("."), *last.split("."))
    assert f"Python {first} to {last} is needed" in script
    assert all(f"python{version}" in script for version in lock.VERSIONS)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], 0),
        (["Python 3.11: error sending request for url"], 0),
        (["Python 3.11: error sending request for url", "Python 3.12: no pin of numpy"], 1),
    ],
)
def test_lock_check_fails_by_faults_not_by_silent_indexes(monkeypatch, capsys, found, code):
    monkeypatch.setattr(lock, "faults", lambda: found)
    with pytest.raises(SystemExit) as end:
        lock.main("--check")
    assert end.value.code == code
    assert ("not checked" in capsys.readouterr().out) == bool(found)


def test_a_pin_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(lock, "compile_", lambda *_, extras: "numpy==2.4.6\nunheard-of==1\n")
    found = lock.fault("3.11", "x86_64-manylinux_2_28")
    assert found == f"{lock.MAIN}, Python 3.11, x86_64-manylinux_2_28: no pin of unheard-of==1"
