from modulefinder import ModuleFinder
from pathlib import Path

import pytest

from crossmodal import source

FILES = {
    "__init__.py": "",
    "job.py": "import json\nfrom toy import helper\ndef run():\n    from toy.deep.inner import x\n",
    "helper.py": "import toy.other\n",
    "other.py": "",
    "deep/__init__.py": "from toy import late\n",
    "deep/inner.py": "x = 1\n",
    "late.py": "",
    "apart.py": "import toy.job\n",
}
USED = set(FILES) - {"apart.py"}


def forget():
    for function in (source.code, source._files, source._content, source._imports):
        function.cache_clear()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package in place of this one."""
    for name, content in FILES.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.setattr(source, "PACKAGE", tmp_path / "toy")
    forget()
    yield tmp_path / "toy"
    forget()


@pytest.mark.parametrize("name", FILES)
def test_the_hash_changes_with_what_is_imported_and_with_nothing_else(toy, name):
    before = source.code("toy.job")
    (toy / name).write_text(FILES[name] + "# changed\n")
    forget()
    assert (source.code("toy.job") != before) == (name in USED)


@pytest.mark.parametrize("module", ["steps.train", "methods.vase", "datasets.nuswide"])
def test_what_is_read_is_what_the_standard_library_finds(module, monkeypatch):
    forget()
    read, content = set(), source._content
    monkeypatch.setattr(source, "_content", lambda name: read.add(name) or content(name))
    source.code(f"crossmodal.{module}")
    finder = ModuleFinder(path=[str(source.PACKAGE.parent)])
    finder.import_hook(f"crossmodal.{module}")
    expected = {Path(m.__file__) for m in finder.modules.values() if m.__file__}
    assert {source._files()[name] for name in read} == expected
