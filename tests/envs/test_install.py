"""The environment that `make` makes: what stops it beforehand, and which build of PyTorch it gets.

The package index and the index of PyTorch's builds are stand-ins on the loopback interface.
"""

import hashlib
import io
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, unquote

import pytest

from envs import install, lock
from tests.conftest import Handler

CPU, ORDINARY = "torch-2.15.0+cpu", "torch-2.15.0"


@pytest.fixture(scope="module")
def make_environment():
    """Make an environment without its own pip, which takes seconds; pytest's installs there."""

    def make(folder):
        install.make_environment(folder)
        return folder

    with pytest.MonkeyPatch.context() as patch:
        create = venv.create
        patch.setattr(venv, "create", lambda *a, **k: create(*a, **k | {"with_pip": False}))
        pip = (sys.executable, "-m", "pip", "--python")
        patch.setattr(install, "pip", lambda python: (*pip, python, "install", "--quiet"))
        yield make


@pytest.fixture(scope="module")
def environment(tmp_path_factory, make_environment):
    """An empty environment, with the uv that is there."""
    folder = make_environment(tmp_path_factory.mktemp("project") / ".venv")
    (folder / "bin/uv").symlink_to(shutil.which("uv", path=Path(sys.executable).parent))
    return folder


@pytest.fixture
def installed(environment):
    """Names of what is installed now."""
    (site,) = environment.glob("lib/python3*/site-packages")
    before = set(site.glob("*.dist-info"))

    yield lambda: {path.stem for path in set(site.glob("*.dist-info")) - before}

    for path in set(site.glob("*.dist-info")) - before:
        shutil.rmtree(path)


@pytest.fixture
def index(server, monkeypatch, tmp_path):
    """Publish empty packages, by index; no other index is asked."""
    for name in ("UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))

    made = {}

    def publish(index, *packages):
        pages = defaultdict(str)
        for package, needs in packages:
            name, version = package.split("-")
            file = quote(f"{name}-{version}-py3-none-any.whl")
            files = wheel(name, version, needs)
            server.files[f"/files/{file}"], server.files[f"/files/{file}.metadata"] = files
            made[package] = hashlib.sha256(files[0]).hexdigest()
            pages[name] += f'<a href="/files/{file}" data-core-metadata="true">{unquote(file)}</a>'
        for name, page in pages.items():
            server.files[f"/{index}/{name.replace('_', '-')}/"] = partial(
                Handler.answer, content=page.encode(), Content_Type="text/html"
            )

    return SimpleNamespace(publish=publish, made=made, url=server.url)


def wheel(name, version, needs):
    """An empty wheel, and its metadata, which an index publishes beside it."""
    stream, info = io.BytesIO(), f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}"
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(f"{info}/METADATA", metadata)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", tags)
        archive.writestr(f"{info}/RECORD", "")
    return stream.getvalue(), metadata.encode()


def packages(name):
    """What a lock pins, as files are named: all of CUDA, but of the rest what PyTorch builds."""
    pins = [re.match(r"([^=]+)==([^ ]+)", pin).groups() for pin in lock.read(name)]
    return {f"{name.replace('-', '_')}-{version}" for name, version in pins}


@pytest.fixture
def small(index, monkeypatch, tmp_path):
    """The locks without what PyTorch's builds do not change, published with newer versions too.

    The ordinary PyTorch wants CUDA.
    """
    rest = {"numpy-2.4.6", "torchvision-0.29.2", "torchaudio-2.11.1"}
    cuda = packages(lock.CUDA)
    wanted = [package.split("-")[0] for package in cuda]
    newer = {f"{name}-999" for name in (*wanted, "numpy", "torch")}
    index.publish("simple", *((package, ()) for package in rest | cuda | newer), (ORDINARY, wanted))
    for name, pinned in ((lock.MAIN, {ORDINARY} | rest), (lock.CUDA, cuda)):
        pins = (
            f"{package.replace('-', '==')} \\\n    --hash=sha256:{index.made[package]}"
            for package in pinned
        )
        (tmp_path / name).write_text("\n".join(pins) + "\n")
    monkeypatch.setattr(install, "ROOT", tmp_path)
    return SimpleNamespace(rest=rest, cuda=cuda)


def test_the_locks_pin_what_the_small_ones_do():
    assert ORDINARY in packages(lock.MAIN)
    assert len(packages(lock.CUDA)) > 10


def test_without_cuda_nothing_of_cuda_is_installed(environment, installed, index, small, capfd):
    index.publish("builds", (CPU, ()), ("numpy-1.0", ()))
    install.install_packages(environment / "bin/python", f"{index.url}/builds")
    assert installed() == small.rest | {CPU}
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("builds", [True, False])
@pytest.mark.parametrize("package", ["numpy-2.4.6", "nvidia_nvtx-13.2.86"])
def test_a_file_of_another_hash_is_not_installed(
    environment, installed, index, small, tmp_path, package, builds
):
    index.publish("builds", *(((CPU, ["nvidia-nvtx"]),) if builds else ()))
    for name in (lock.MAIN, lock.CUDA):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace(index.made[package], "0" * 64))
    with pytest.raises(SystemExit, match=r"^error: the packages of requirements.lock"):
        install.install_packages(environment / "bin/python", f"{index.url}/builds")
    assert package not in installed()


@pytest.mark.parametrize("status", [403, 404, 500])
def test_refused_index_leaves_the_ordinary_builds(
    environment, installed, index, small, server, capfd, status
):
    server.files["/builds/torch/"] = lambda handler: handler.send_error(status)
    install.install_packages(environment / "bin/python", f"{index.url}/builds")
    assert installed() == small.rest | small.cuda | {ORDINARY}
    said = capfd.readouterr().out
    assert "that index of PyTorch's builds cannot be used" in said
    assert said.endswith("so the ordinary build is installed, which brings CUDA along\n")
    assert said.count("\n") == 1


def test_a_package_index_that_refuses_stops_with_the_remedy(environment, index, server):
    server.files["/simple/uv/"] = lambda handler: handler.send_error(403)
    with pytest.raises(SystemExit, match=r"^error: the package index does not answer.*PIP_INDEX"):
        install.install_uv(environment / "bin/python")
    assert server.requested == ["/simple/uv/"]


def test_missing_pinned_package_stops_with_the_remedy(environment, index):
    with pytest.raises(SystemExit, match=r"^error: the packages of requirements.lock.*resumes$"):
        install.install_packages(environment / "bin/python", f"{index.url}/builds")


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_python_without_venv_stops_with_the_remedy(monkeypatch, missing):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else name)
    with pytest.raises(SystemExit, match=r"^error: .*apt install python3\.\d+-venv.*make PYTHON="):
        install.check_modules()


@pytest.mark.parametrize("full", ["project", "cache"])
def test_a_full_disk_stops_before_anything_is_made(monkeypatch, tmp_path, full):
    for name in ("project", "cache"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache/uv"))
    monkeypatch.setattr(
        "shutil.disk_usage",
        lambda path: SimpleNamespace(free=1e9 * (1 if path.name == full else 9)),
    )
    with pytest.raises(SystemExit, match=rf"^error: .*{full}.*: 1.0 GB are free, .* takes 2 GB"):
        install.main(tmp_path / "project/.venv", "cpu")
    assert not (tmp_path / "project/.venv").exists()


def test_programs_find_each_other_without_activation(environment):
    program = "import shutil, sys; print(shutil.which('python3'), shutil.which('sh'))"
    found = subprocess.run(
        [environment / "bin/python", "-c", program],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    python, shell = found.stdout.split()
    assert python == str(environment / "bin/python3")
    assert shell in {"/usr/bin/sh", "/bin/sh"}


def test_an_environment_of_another_python_is_replaced(tmp_path, make_environment):
    other = tmp_path / ".venv/lib/python3.9/site-packages/left"
    other.mkdir(parents=True)
    make_environment(tmp_path / ".venv")
    assert not other.exists()
    assert (tmp_path / ".venv/bin/python").exists()
