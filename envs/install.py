"""Makes the environment: looks at what that takes, then installs what the lock pins.

usage: python envs/install.py FOLDER TORCH

TORCH is a backend of uv's, such as `cpu` or `cu132`; `auto`, for the one that the machine's driver
wants; or the address of a mirror of such an index.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
# GB of the environment while it is installed
ORDINARY, PROCESSOR = 6, 2
DRIVER = Path("/sys/module/nvidia/version")
# each process of the environment finds the others, as after `activate`: DVC starts snakemake, which
# starts python
ACTIVATE = (
    "import os, sys; os.environ['PATH'] = "
    "os.pathsep.join([os.path.join(sys.prefix, 'bin'), os.environ.get('PATH', os.defpath)])\n"
)


def main(folder: Path, torch: str) -> None:
    """Make the environment in a folder."""
    print(f"installing what requirements.lock pins into {folder}: some minutes, once", flush=True)
    check_modules()
    check_disk(folder, PROCESSOR if torch == "cpu" or not DRIVER.exists() else ORDINARY)
    make_environment(folder)
    install_uv(folder / "bin/python")
    install_packages(folder / "bin/python", torch)
    install_project(folder / "bin/python")


def check_modules() -> None:
    """Stop unless this Python can make an environment with pip: Debian splits that off."""
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SystemExit(
            f"error: {sys.executable} cannot make environments, it lacks venv or ensurepip: "
            f"install them (`apt install python{version}-venv`), or name another Python: "
            "`make PYTHON=/path/to/python3`"
        )


def check_disk(folder: Path, need: float) -> None:
    """Stop unless the environment, and uv's cache of it, have this many GB left."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    for path in (folder.absolute(), Path(os.environ.get("UV_CACHE_DIR") or home)):
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        free = shutil.disk_usage(there).free / 1e9
        if free < need:
            raise SystemExit(
                f"error: {path}: {free:.1f} GB are free, the environment takes {need} GB: free "
                "some space, or put the project elsewhere (and UV_CACHE_DIR, uv's cache)"
            )


def make_environment(folder: Path) -> None:
    """Make an empty environment; one of another Python is replaced."""
    same = list(folder.glob(f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"))
    venv.create(folder, with_pip=True, clear=not same, symlinks=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "activate.pth").write_text(ACTIVATE)


def install_uv(python: Path) -> None:
    """Install uv, which is the first thing downloaded; stop if the index does not answer."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "uv.txt")
        lock.write_text("\n".join(pins("requirements-dev.lock", "uv")))
        done = run(*pip(python), "--require-hashes", "-r", lock)
    if not done:
        raise SystemExit(
            "error: the package index does not answer, see above: check the network and the proxy "
            "(HTTPS_PROXY), or name an index of yours: PIP_INDEX_URL and UV_DEFAULT_INDEX"
        )


def install_packages(python: Path, torch: str) -> None:
    """Install the lock, with CUDA's packages as far as PyTorch's build wants them.

    The locks have no hashes of the builds in PyTorch's own index, nor of what other CUDAs need.
    """
    lock, cuda = ROOT / "requirements.lock", ROOT / "requirements-cuda.lock"
    uv = (python.parent / "uv", "pip", "install", "--quiet", "--python", python)
    options = build(python, torch)
    builds = [pin.partition(" ")[0] for pin in pins(lock.name, r"torch\w*")]
    hashes = () if options else ("--require-hashes",)  # uv verifies those that are there anyway
    built = not options or run(*uv, "--no-deps", *options, *builds)
    if built and run(*uv, *hashes, "-r", lock, "-c", cuda):
        return
    # uv is several times faster, but pip may know an index that uv does not
    print("uv cannot install the packages, see above; pip tries, with the ordinary PyTorch")
    if not run(*pip(python), "--no-deps", "--require-hashes", "-r", lock, "-r", cuda):
        raise SystemExit(
            "error: the packages of requirements.lock cannot be installed, see above: check the "
            "network, and run the same command again; it resumes"
        )


def build(python: Path, torch: str) -> tuple[str, ...]:
    """Options of uv for the wanted build of PyTorch; none for the package index's ordinary one."""
    if sys.platform == "darwin":
        return ()  # the ordinary build is without CUDA
    # an index of builds may have old versions of other packages too
    mirror = ("--index", torch, "--index-strategy", "unsafe-best-match")
    options = mirror if "://" in torch else ("--torch-backend", torch)
    found = subprocess.run(
        [python.parent / "uv", "pip", "compile", "-", "--no-deps", "--python", python, *options],
        input=pins("requirements.lock", "torch")[0].partition(" ")[0],
        capture_output=True,
        text=True,
    )
    if re.search(r"^torch==\S+\+", found.stdout, re.MULTILINE):  # 2.15.0+cpu
        return options
    reason = "no such build" if found.returncode == 0 else found.stderr.split(": ")[-1]
    print(
        f"TORCH={torch}: that index of PyTorch's builds cannot be used ({' '.join(reason.split())})"
        ", so the ordinary build is installed, which brings CUDA along",
        flush=True,
    )
    check_disk(python, ORDINARY)
    return ()


def pins(lock: str, name: str) -> list[str]:
    """Pins, with their hashes, of the packages in a lock that a regular expression names."""
    text = (ROOT / lock).read_text()
    return re.findall(rf"^(?:{name})==.*(?:\n .*)*", text, re.MULTILINE)


def install_project(python: Path) -> None:
    """Install this project, by reference to its source."""
    if not run(*pip(python), "--no-deps", "--no-build-isolation", "--editable", ROOT):
        raise SystemExit("error: the project itself cannot be installed, see above")


def pip(python: Path) -> tuple[str | Path, ...]:
    """Command that installs what is named behind it; errors are shown, warnings are not."""
    return python, "-m", "pip", "install", "--quiet", "--quiet"


def run(*command: str | Path) -> bool:
    """Whether a command succeeds."""
    return subprocess.run(command).returncode == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
