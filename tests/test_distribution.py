"""What is built of the project: wheel and source archive, which stand alone for fitted models."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path, PurePath

import numpy as np
import pytest
from packaging.requirements import Requirement

import crossmodal
from tests.test_load import MODELS, make_studio, png

ROOT = Path(__file__).parents[1]
SERVER = "https://example.org"
USE = """
import importlib.util, json, sys
import crossmodal
model = crossmodal.load(sys.argv[1])
texts = model.embed(texts=["a red circle", "a small blue square on the left"])
images = model.embed(images=[sys.argv[2]])
print(json.dumps({
    "scores": model.score(texts, images, direction=("text", "image")).tolist(),
    "package": crossmodal.__file__,
    "workflow": [name for name in ("snakemake", "dvc") if importlib.util.find_spec(name)],
}))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel, built of the source archive, and the archive; without an index."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    for path in workflow_files():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, source / path)
    for name in ("src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    (source / "data/raw").mkdir(parents=True)
    (source / "data/raw/photos.zip").write_bytes(b"private")
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    command = [uv, "build", "--quiet", "--offline", "--no-build-isolation", "--python"]
    environment = os.environ | {"GITHUB_SERVER_URL": SERVER, "GITHUB_REPOSITORY": "org/name"}
    subprocess.run([*command, sys.executable], cwd=source, check=True, env=environment)
    (wheel,), (archive,) = (source / "dist").glob("*.whl"), (source / "dist").glob("*.tar.gz")
    return wheel, archive


def workflow_files():
    """Paths of what the workflow needs besides the package, from the top of a checkout."""
    folders = [
        path for name in ("rules", "experiments", "profiles") for path in (ROOT / name).rglob("*")
    ]
    files = [str(path.relative_to(ROOT)) for path in folders if path.is_file()]
    return {*files, "Snakefile", "params.yaml", "envs/crossmodal.yaml", "docs/deviations.md"}


def package_files():
    """Sources and data of the package, as a checkout has them."""
    paths = (ROOT / "src/crossmodal").rglob("*")
    files = (path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(ROOT / "src")) for path in files}


def test_wheel_has_package_and_published_numbers_alone(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    inside = {name for name in names if name.startswith("crossmodal/")}
    copies = {f"crossmodal/workflow_files/{path}" for path in workflow_files()}
    assert inside == package_files() | copies
    assert "crossmodal/published/retrieval.csv" in inside
    assert all(".dist-info/" in name for name in names - inside)


def test_the_source_archive_has_no_data_and_no_tests(built):
    with tarfile.open(built[1]) as archive:
        files = {"/".join(PurePath(m.name).parts[1:]) for m in archive.getmembers() if m.isfile()}
    assert {f"src/{name}" for name in package_files()} <= files
    tops = {PurePath(name).parts[0] for name in files}
    about = {"LICENSE", "README.md", "pyproject.toml", "MANIFEST.in", "PKG-INFO", "setup.cfg"}
    workflow = {PurePath(path).parts[0] for path in workflow_files()}
    assert tops <= {"src", "setup.py", *about, *workflow}
    assert workflow_files() <= files


def test_what_the_workflow_needs_comes_with_it_alone(built, tmp_path):
    zipfile.ZipFile(built[0]).extractall(tmp_path)
    (distribution,) = metadata.distributions(path=[str(tmp_path)])
    needs = {"": set(), "workflow": set()}
    for need in map(Requirement, distribution.requires):
        for extra, names in needs.items():
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                names.add(need.name)
    assert needs["workflow"] - needs[""] == {"dvc", "pathspec", "snakemake"}


def test_addresses_are_those_of_the_repository_that_builds(built, tmp_path):
    zipfile.ZipFile(built[0]).extractall(tmp_path)
    (distribution,) = metadata.distributions(path=[str(tmp_path)])
    named = dict(each.split(", ") for each in distribution.metadata.get_all("Project-URL"))
    assert named.pop("Source") == f"{SERVER}/org/name"
    assert {*named} == {"Documentation", "Changelog", "Issues"}
    for address in named.values():
        assert address.startswith(f"{SERVER}/org/name/")
        kind, _, path = address.removeprefix(f"{SERVER}/org/name/").partition("/HEAD/")
        assert kind == "issues" or (ROOT / path).exists()


def link_needed(site, distribution, linked):
    """Link what a distribution needs into a folder, out of this environment, and no more."""
    for need in map(Requirement, distribution.requires or ()):
        extras = [*linked.get(distribution.name, ()), ""]
        if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        if need.extras <= linked.get(need.name, frozenset()) and need.name in linked:
            continue
        linked[need.name] = linked.get(need.name, frozenset()) | need.extras
        found = metadata.distribution(need.name)
        for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(found.locate_file(top))
        link_needed(site, found, linked)


@pytest.mark.long
def test_the_wheel_alone_loads_a_model_in_another_folder(built, tmp_path):
    venv.create(tmp_path / "empty", symlinks=True)
    (site,) = (tmp_path / "empty").glob("lib/python3*/site-packages")
    zipfile.ZipFile(built[0]).extractall(site)
    (distribution,) = metadata.distributions(path=[str(site)])
    link_needed(site, distribution, {})
    pixels = np.random.default_rng(0).integers(0, 255, (40, 50, 3), np.uint8)
    (tmp_path / "new.png").write_bytes(png(pixels))

    (tmp_path / "studio").mkdir()
    with_models = make_studio(tmp_path / "studio", {"cca": MODELS["cca"]})
    folder = next(with_models).root / "models/cca"
    with_models.close()
    shutil.copytree(folder, tmp_path / "elsewhere/cca")
    said = subprocess.run(
        [tmp_path / "empty/bin/python", "-I", "-c", USE, "cca", tmp_path / "new.png"],
        cwd=tmp_path / "elsewhere",
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["package"].startswith(str(tmp_path))
    assert found["workflow"] == []
    model = crossmodal.load(folder)
    texts = model.embed(texts=["a red circle", "a small blue square on the left"])
    images = model.embed(images=[tmp_path / "new.png"])
    scores = model.score(texts, images, direction=("text", "image"))
    np.testing.assert_allclose(found["scores"], scores, rtol=1e-3, atol=1e-4)


def test_importing_the_package_imports_no_other():
    program = "import sys, crossmodal; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "torch", "pydantic", "typer", "yaml"} & set(loaded)
