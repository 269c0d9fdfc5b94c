"""Conda file, Dockerfile and Apptainer definition: the same Python, the same locks."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envs import lock

ROOT = Path(__file__).parents[2]
DOCKER, APPTAINER = ROOT / "envs/Dockerfile", ROOT / "envs/apptainer.def"
VERSION = lock.VERSIONS[0]
HERE = {"python_version": VERSION, "python_full_version": f"{VERSION}.0", "extra": ""}
HERE |= next(iter(lock.PLATFORMS.values()))


def commands(path):
    """What a file runs to make the image, as one line."""
    text = path.read_text()
    if path == DOCKER:
        found = re.findall(r"^RUN (.*?[^\\])$", text, re.MULTILINE | re.DOTALL)
    else:
        found = [text.split("%post\n")[1]]
    words = " ".join(found).replace("\\\n", " ").split()
    return " ".join(words)


def needed(names):
    """These packages and all that they need, but for CUDA."""
    found, left = set(), [*names]
    while left:
        if (name := canonicalize_name(left.pop())) in found or lock.CUDA_ONLY.match(f"{name}=="):
            continue
        found.add(name)
        for line in distribution(name).requires or []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate(HERE):
                left.append(need.name)
    return found


def is_locked():
    """Whether the versions of the lock are installed, and not the lowest or newest ones."""
    pins = (Requirement(line) for line in lock.read(lock.MAIN))
    here = (pin for pin in pins if not pin.marker or pin.marker.evaluate(HERE))
    try:
        return all(pin.specifier.contains(distribution(pin.name).version) for pin in here)
    except PackageNotFoundError:
        return False


locked = pytest.mark.skipif(not is_locked(), reason="needs the versions of the lock")


@pytest.fixture
def conda():
    """Dependencies of the conda file: packages of its own, and those of pip."""
    *own, last = yaml.safe_load((ROOT / lock.CONDA).read_text())["dependencies"]
    return own, last["pip"]


def test_the_conda_file_has_the_pins_of_the_lock_for_its_python(conda):
    own, pins = conda
    assert own == [f"python={VERSION}", "pip"]
    locked = [Requirement(line) for line in lock.read(lock.MAIN)]
    valid = {f"{r.name}{r.specifier}" for r in locked if not r.marker or r.marker.evaluate(HERE)}
    assert set(pins) <= valid
    assert len(pins) == len(set(map(lock.name, pins)))


@locked
def test_the_conda_file_pins_all_that_the_package_needs(conda):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = [Requirement(line).name for line in project["dependencies"]]
    assert needed(direct) <= {canonicalize_name(lock.name(pin)) for pin in conda[1]}


def test_images_have_the_python_of_the_conda_file():
    base = f"python:{VERSION}-slim-bookworm"
    assert re.findall(r"^FROM (.*)$", DOCKER.read_text(), re.MULTILINE) == [base]
    assert re.findall(r"^From: (.*)$", APPTAINER.read_text(), re.MULTILINE) == [base]


def test_images_are_made_of_locks_that_are_there():
    copied = re.search(r"^COPY (.*) (\S+)/$", DOCKER.read_text(), re.MULTILINE)
    files, folder = copied[1].split(), copied[2]
    section = re.search(r"^%files\n(.*?)^%", APPTAINER.read_text(), re.MULTILINE | re.DOTALL)[1]
    assert section.split() == [word for name in files for word in (name, f"{folder}/{name}")]
    ignored = (ROOT / "envs/Dockerfile.dockerignore").read_text().split()
    assert ignored == ["*", "!requirements*.lock"]
    named = set(re.findall(r"\S+\.lock", commands(DOCKER)))
    assert named == set(files)
    assert all((ROOT / name).exists() for name in files)


def test_both_images_install_the_same_way():
    docker, _ = commands(DOCKER).split(" useradd ")  # Apptainer's user is who calls it
    for step in re.split(r" (?=apt-get update|sed -n|pip install)", docker):
        assert step in commands(APPTAINER)
    assert f"-r {lock.MAIN} -c {lock.CUDA}" in docker
    assert "MPLCONFIGDIR=/tmp/matplotlib XDG_CACHE_HOME=/tmp/cache\n" in DOCKER.read_text()


def test_no_cache_lies_where_other_users_of_a_host_may_write():
    assert "/tmp" not in APPTAINER.read_text()


def test_jobs_run_as_a_user_in_the_image_of_docker():
    *_, last = re.findall(r"^USER (.*)$", DOCKER.read_text(), re.MULTILINE)
    assert last not in ("root", "0")
    assert f"--create-home {last}" in commands(DOCKER)


def test_actions_are_pinned_by_commit():
    used = {
        action
        for path in (ROOT / ".github").rglob("*.yml")
        for action in re.findall(r"uses: (\S+)", path.read_text())
    }
    assert used
    own = re.compile(r"\./\.github/actions/\w+|[\w/-]+@[0-9a-f]{40}")
    assert not [action for action in used if not own.fullmatch(action)]


@locked
def test_processor_packages_fit_an_image_of_2500_megabytes():
    pins = [Requirement(line) for line in lock.read(lock.MAIN)]
    names = [pin.name for pin in pins if not pin.marker or pin.marker.evaluate(HERE)]
    files = [file for name in names for file in distribution(name).files or []]
    compiled = 1.3 * sum(file.size or 0 for file in files if file.suffix == ".py")
    plain = sum(file.size or 0 for file in files if not re.search(r"cuda|ptxas", str(file)))
    assert plain + compiled < 2.1e9


def test_workflow_names_the_image_of_the_definition():
    image = re.search(r'^container: "(.*)"$', (ROOT / "Snakefile").read_text(), re.MULTILINE)[1]
    assert f"apptainer build {image} envs/apptainer.def" in APPTAINER.read_text()
    assert f"/{image}\n" in (ROOT / ".gitignore").read_text()


def test_the_conda_file_leaves_out_what_cuda_needs(monkeypatch, tmp_path, conda):
    pins = ["cuda-toolkit==13.2.2", *conda[1], "nvidia-nvtx==13.2.86", "triton==3.9.0"]
    monkeypatch.setattr(lock, "compile_", lambda *_, extras: "\n".join(pins))
    written = (ROOT / lock.CONDA).read_text()
    (tmp_path / "envs").mkdir()
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    lock.write_conda()
    assert (tmp_path / lock.CONDA).read_text() == written
