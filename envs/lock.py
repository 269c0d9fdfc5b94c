"""Writes and checks the locks: `make lock`, `make lock-check`.

usage: python envs/lock.py [--check | --upgrade | --upgrade-package PACKAGE]

A lock pins what pyproject.toml needs, with markers, for all targets at once, and has the SHA-256 of
all files of each version. What only CUDA builds of PyTorch need is in a lock of its own. The conda
file repeats the pins of what jobs import, without hashes, for its version of Python.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# as uv names them -> what markers say there
PLATFORMS = {
    "x86_64-manylinux_2_28": {"sys_platform": "linux", "platform_machine": "x86_64"},
    "aarch64-manylinux_2_28": {"sys_platform": "linux", "platform_machine": "aarch64"},
    "aarch64-apple-darwin": {"sys_platform": "darwin", "platform_machine": "arm64"},
}
MAIN, CUDA = "requirements.lock", "requirements-cuda.lock"
LOCKS = {
    MAIN: ("workflow", "serve"),
    "requirements-dev.lock": ("dev",),
    "requirements-cluster.lock": ("workflow", "serve", "kubernetes", "slurm", "batch"),
    "requirements-docs.lock": ("docs",),
    "requirements-encoders.lock": ("workflow", "serve", "encoders"),
    "requirements-mteb.lock": ("workflow", "serve", "mteb"),
    "requirements-benchmarks.lock": ("workflow", "serve", "benchmarks"),
}
CONDA = "envs/crossmodal.yaml"
CONDA_HEAD = """\
# For `snakemake --sdm conda`, with the pins of requirements.lock; written by `make lock`.
channels:
  - conda-forge
dependencies:
  - python={version}
  - pip
  - pip:
"""
ENTRY = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)  # a pin, and the lines with its hashes
CUDA_ONLY = re.compile(r"(cuda|nvidia)-|triton==")
# published as source alone; with a C compiler, immutables for Python 3.14 and pytrec-eval-terrier
# for Linux on ARM
SOURCES = {"antlr4-python3-runtime", "connection-pool", "immutables", "pytrec-eval-terrier"}
NO_ANSWER = re.compile(r"error sending request|Request failed after")
COMPILE = ("uv", "pip", "compile", "pyproject.toml", "--quiet", "--no-header", "--no-annotate")
MACOS = {"MACOSX_DEPLOYMENT_TARGET": "14.0"}
# or uv looks for each version's interpreter, and downloads it
OWN_PYTHON = ("--python", sys.executable, "--no-python-downloads")


def main(*options: str) -> None:
    """Write the locks, or check them."""
    if options == ("--check",):
        found = faults()
        unasked = [fault for fault in found if NO_ANSWER.search(fault)]
        print("\n".join(found) or f"{', '.join(LOCKS)}: resolved on {len(targets())} targets")
        if unasked:
            print(f"no package index answers uv: {len(unasked)} targets are not checked")
        sys.exit(len(found) > len(unasked))
    write(*options)


def targets() -> list[tuple[str, str]]:
    """Versions of Python on the platforms that the locks are for."""
    return list(product(VERSIONS, PLATFORMS))


def write(*options: str) -> None:
    """Pin for all targets; versions stay unless `options` upgrade all or some packages."""
    with tempfile.TemporaryDirectory() as folder:
        together = Path(folder, "together")
        together.write_text("\n".join({pin for lock in (*LOCKS, CUDA) for pin in read(lock)}))
        # or the newest of one lock leaves another one without a version
        resolve(together, *options, extras=sum(LOCKS.values(), ()))
        for lock, extras in LOCKS.items():
            entries = resolve(
                Path(folder, lock), *constraints(together), "--generate-hashes", extras=extras
            )
            if lock == MAIN:
                save(CUDA, [entry for entry in entries if CUDA_ONLY.match(entry)])
            save(lock, [entry for entry in entries if not CUDA_ONLY.match(entry)])
    write_conda()


def resolve(output: Path, *options: str | Path, extras: tuple[str, ...]) -> list[str]:
    """Pin what some extras need in a file, which holds versions if it is there; its entries."""
    universal = ("--universal", "--python-version", VERSIONS[0], "--output-file", output)
    compile_(*universal, *options, extras=extras)
    return [entry for entry in ENTRY.findall(output.read_text()) if holds_somewhere(entry)]


def write_conda() -> None:
    """Pin in the conda file what the package needs, without what runs the workflow."""
    version, platform = targets()[0]
    target = ("--python-version", version, "--python-platform", platform)
    pins = compile_(*constraints(MAIN, CUDA), *target, extras=()).splitlines()
    lines = [f"      - {pin}\n" for pin in pins if not CUDA_ONLY.match(pin)]
    (ROOT / CONDA).write_text(CONDA_HEAD.format(version=version) + "".join(lines))


def faults() -> list[str]:
    """Why the locks do not hold, by target."""
    with ThreadPoolExecutor(4) as pool:  # each waits for the index most of the time
        return list(filter(None, pool.map(fault, *zip(*targets(), strict=True))))


def fault(version: str, platform: str) -> str:
    """Why a lock does not hold on a target, and which; empty if all do."""
    locks = [*LOCKS, CUDA]
    names = {name(pin) for lock in locks for pin in read(lock)} - SOURCES
    target = ["--python-version", version, "--python-platform", platform]
    target += [f"--only-binary={package}" for package in sorted(names)]
    try:
        # the index is asked once; each lock by itself is then resolved from what it answered
        compile_(*constraints(*locks), *target, extras=sum(LOCKS.values(), ()))
        for lock, extras in LOCKS.items():
            pins = {pin.split(" ;")[0] for pin in read(lock) + read(CUDA)}
            resolved = compile_("--offline", *constraints(lock, CUDA), *target, extras=extras)
            if missing := set(resolved.split()) - pins:
                return f"{lock}, Python {version}, {platform}: no pin of {', '.join(missing)}"
    except subprocess.CalledProcessError as error:
        return f"Python {version}, {platform}: {error.stderr.strip()}"
    return ""


def compile_(*arguments: str | Path, extras: tuple[str, ...]) -> str:
    """What `uv pip compile` prints.

    Raises:
        subprocess.CalledProcessError: If it fails.
    """
    command = [*COMPILE, *OWN_PYTHON, "--no-emit-index-url", *arguments]
    command += [f"--extra={extra}" for extra in extras]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | MACOS, check=True, capture_output=True, text=True
    ).stdout


def constraints(*locks: str | Path) -> list[str]:
    """Options that hold versions."""
    return [f"--constraint={lock}" for lock in locks]


def holds_somewhere(entry: str) -> bool:
    """Whether a pin is for one of the targets, and not for Windows for example."""
    marker = Requirement(without_hashes(entry)).marker
    return marker is None or any(
        marker.evaluate(
            {
                "python_version": version,
                "python_full_version": f"{version}.0",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
                **PLATFORMS[platform],
            }
        )
        for version, platform in targets()
    )


def name(pin: str) -> str:
    """Name of a pinned package."""
    return pin.split("==")[0]


def read(lock: str) -> list[str]:
    """Pins of a lock, without hashes."""
    return [without_hashes(entry) for entry in ENTRY.findall((ROOT / lock).read_text())]


def without_hashes(entry: str) -> str:
    """The pin of an entry, with its marker."""
    return entry.partition(" \\\n")[0]


def save(lock: str, entries: list[str]) -> None:
    """Write a lock."""
    (ROOT / lock).write_text("\n".join(entries) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
