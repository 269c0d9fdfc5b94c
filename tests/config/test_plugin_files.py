"""Plug-ins outside of the package: in the folder `plugins`, and of installed packages."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crossmodal.commands.describe import describe
from crossmodal.config import plugin_files, plugins
from crossmodal.config.params import _source
from crossmodal.errors import CrossmodalError
from crossmodal.workflow import code_hash
from tests.project_params import PATH

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"`plugins/(\S+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
PACKAGE = re.compile(r"`my_plugins/pyproject.toml`:\n\n```toml\n(.*?)```", re.DOTALL)
HELPER = "from ._distances import FACTOR\n"
OVERLAY = "methods:\n  mine: {plugin: centroids, scale: 2.0}\n"


def example(name):
    """A plug-in that README or docs/extend.md shows."""
    pages = "".join((ROOT / page).read_text() for page in ("README.md", "docs/extend.md"))
    return dict(EXAMPLE.findall(pages))[name]


def forget():
    for function in (plugin_files._modules, plugin_files._entry_points):
        function.cache_clear()
    for function in (code_hash.code, code_hash._files, code_hash._read):
        function.cache_clear()


@pytest.fixture
def project(tmp_path):
    """A project's folder, whose plug-ins are found for the time of the test."""
    before = set(sys.modules)
    (tmp_path / "plugins/methods").mkdir(parents=True)
    forget()
    plugin_files.look_in(tmp_path)
    yield tmp_path
    plugin_files.look_in(Path())
    forget()
    for name in {n for n in sys.modules if n.startswith(("crossmodal.", "my_plugins"))} - before:
        if name.endswith("centroids") or "my_plugins" in name or "_distances" in name:
            del sys.modules[name]
    for kind in plugin_files.KINDS:
        vars(sys.modules[f"crossmodal.{kind}"]).pop("centroids", None)


@pytest.fixture
def own(project):
    """The README's method in the project's folder."""
    path = project / "plugins/methods/centroids.py"
    path.write_text(example("methods/centroids.py"))
    return path


def code():
    forget()
    return code_hash.code("crossmodal.steps.train", plugins.module("methods", "centroids"))


def test_a_file_in_the_folder_is_a_plug_in(own):
    assert "centroids" in plugins.names("methods")
    method = plugins.make("methods", "centroids", {"scale": 2}, "methods.centroids")
    assert method.options.scale == 2
    assert plugins.summary(type(method)).startswith("Distance to the category centroids")


def test_the_folder_is_that_beside_params(own, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    plugin_files.look_in(elsewhere)
    assert "centroids" not in plugins.names("methods")


def test_what_plug_ins_share_is_none(own):
    own.with_name("_distances.py").write_text("FACTOR = 2\n")
    forget()
    assert "_distances" not in plugins.names("methods")


def test_a_name_of_two_plug_ins_is_refused(own):
    shutil.copy(own, own.with_name("cca.py"))
    forget()
    with pytest.raises(CrossmodalError, match=r"methods: 'cca' is .*cca\.py and .*plugins/methods"):
        plugins.names("methods")


def test_code_of_a_plug_in_makes_its_jobs_due(own):
    own.with_name("_distances.py").write_text("FACTOR = 2\n")
    alone = code()
    own.write_text(own.read_text() + HELPER)
    shared = code()
    own.with_name("_distances.py").write_text("FACTOR = 3\n")
    changed = code()
    own.write_text(own.read_text() + "# a comment\n")
    assert len({alone, shared, changed}) == 3
    assert code() == changed


def test_a_check_is_repeated_for_a_changed_plug_in(own):
    before = _source()
    own.write_text(own.read_text() + "# a comment\n")
    assert _source() != before


def test_a_mistake_is_told_with_file_and_line(own):
    own.write_text("import nowhere\n")
    with pytest.raises(plugins.BrokenPluginError, match=r"plugins/methods/centroids\.py, line 1"):
        plugins.load("methods", "centroids")


@pytest.fixture
def installed(project, monkeypatch):
    """The package of docs/extend.md, built and installed by pip into a folder."""
    source, site = project / "my-plugins", project / "site"
    (source / "src/my_plugins").mkdir(parents=True)
    (text,) = PACKAGE.findall((ROOT / "docs/extend.md").read_text())
    (source / "pyproject.toml").write_text(text)
    (source / "src/my_plugins/__init__.py").write_text('"""Plug-ins of mine."""\n')
    module = source / "src/my_plugins/centroids.py"
    module.write_text(example("methods/centroids.py") + HELPER)
    module.with_name("_distances.py").write_text("FACTOR = 2\n")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(site), str(source)]
    subprocess.run(command, check=True)
    monkeypatch.syspath_prepend(str(site))
    forget()
    return site / "my_plugins"


def test_an_installed_package_brings_plug_ins(installed, project, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert plugins.module("methods", "centroids") == "my_plugins.centroids"
    (project / "mine.yaml").write_text(OVERLAY)
    describe("mine", PATH, [project / "mine.yaml"])
    shown = capsys.readouterr().out
    assert "methods.mine: Distance to the category centroids of each modality" in shown
    assert re.search(r"scale\s+number\s+2.0\s+\S+mine.yaml:methods.mine.scale\s+Factor", shown)
    (project / "mine.yaml").write_text(OVERLAY.replace("scale", "scaling"))
    with pytest.raises(CrossmodalError, match=r"methods\.mine\.scaling: unknown key.*scale"):
        describe("mine", PATH, [project / "mine.yaml"])


def test_code_of_an_installed_plug_in_makes_its_jobs_due(installed):
    before = code()
    (installed / "_distances.py").write_text("FACTOR = 3\n")
    assert code() != before


def test_an_entry_point_without_its_module_is_named(installed):
    (installed / "centroids.py").unlink()
    with pytest.raises(plugins.BrokenPluginError, match=r"my_plugins\.centroids"):
        plugins.load("methods", "centroids")
