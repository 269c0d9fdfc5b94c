import shutil
from modulefinder import ModuleFinder
from pathlib import Path
from unittest.mock import Mock

import pytest

import crossmodal
from crossmodal.config import plugins
from crossmodal.workflow import code_hash
from crossmodal.workflow.code_memory import CodeMemory

PACKAGE = Path(crossmodal.__file__).parent
FILES = {
    "__init__.py": "",
    "job.py": "import json\nfrom toy import helper\ndef run():\n    from toy.deep.inner import x\n",
    "helper.py": "import toy.other\nimport toy.errors\nfrom toy.io.progress import track\n",
    "other.py": "",
    "deep/__init__.py": "from toy import late\n",
    "deep/inner.py": "x = 1\n",
    "late.py": "",
    "apart.py": "import toy.job\n",
    "errors.py": "",
    "io/__init__.py": "",
    "io/progress.py": "",
}
USED = set(FILES) - {"__init__.py", "apart.py", "errors.py", "io/progress.py"}
METHOD = '''"""What it is."""
# why
class Options(Strict):
    """Options."""
    margin: float = Field(0.5, gt=0, description="Between right and wrong")
    rate: float
    """In bits."""
def fit(x):
    """Fit it."""
    if x < 0:
        raise ValueError(f"{x} is negative")
    warnings.warn("slow", stacklevel=2)
    print(x, "fits")
    return x + 1
'''


def forget():
    code_hash.MEMORY = CodeMemory()
    for function in (code_hash.code, code_hash._files, code_hash._read):
        function.cache_clear()


@pytest.fixture
def use(monkeypatch):
    """Take another folder for the package."""

    def use(folder):
        monkeypatch.setattr(code_hash, "PACKAGE", folder)
        forget()
        return folder

    yield use
    forget()


@pytest.fixture
def toy(tmp_path, use):
    """A package in place of this one."""
    for name, content in FILES.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return use(tmp_path / "toy")


def code(*modules):
    forget()
    return code_hash.code(*modules)


@pytest.mark.parametrize("name", FILES)
def test_hash_changes_with_imports_alone(toy, name):
    before = code("toy.job")
    (toy / name).write_text(FILES[name] + "changed = 1\n")
    assert (code("toy.job") != before) == (name in USED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# why", "# or why not"),
        ("# why\n", ""),
        ("What it is.", "What it does."),
        ("    return", "\n    return"),
        ('    """Fit it."""\n', ""),
        ('    """In bits."""\n', ""),
        ("Between right and wrong", "Between wrong and right"),
        (', description="Between right and wrong"', ""),
        ('f"{x} is negative"', '"negative: " + str(x)'),
        ('"slow", stacklevel=2', '"very slow", stacklevel=3'),
        ('print(x, "fits")', 'print(f"{x} fits")'),
    ],
)
def test_what_is_written_for_people_makes_nothing_due(toy, old, new):
    (toy / "other.py").write_text(METHOD)
    before = code("toy.job")
    assert old in METHOD
    (toy / "other.py").write_text(METHOD.replace(old, new))
    assert code("toy.job") == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5", "0.6"),
        ("gt=0", "ge=0"),
        ("x + 1", "x - 1"),
        ("x < 0", "x <= 0"),
        ("raise ValueError", "raise CrossmodalError"),
    ],
)
def test_what_computes_makes_its_users_due(toy, old, new):
    (toy / "other.py").write_text(METHOD)
    before = code("toy.job")
    (toy / "other.py").write_text(METHOD.replace(old, new))
    assert code("toy.job") != before


def imported(module):
    """Files of the package that the standard library finds a module to import."""
    finder = ModuleFinder(path=[str(PACKAGE.parent)])
    finder.import_hook(module)
    return {Path(found.__file__) for found in finder.modules.values() if found.__file__}


SHOWING = {
    PACKAGE / "__init__.py",
    PACKAGE / "errors.py",
    PACKAGE / "io/progress.py",
    PACKAGE / "io/relative_names.py",
    PACKAGE / "workflow/carrier.py",
    PACKAGE / "workflow/records.py",
    # which records alone import
    PACKAGE / "config/workflow_files.py",
    PACKAGE / "data/media.py",
    PACKAGE / "io/shaped_json.py",
    PACKAGE / "workflow/snakemake_internals.py",
}


@pytest.mark.parametrize("module", ["steps.train", "methods.vase", "datasets.nuswide"])
def test_what_is_read_is_what_the_standard_library_finds(module, monkeypatch):
    forget()
    read, file = set(), code_hash._read
    monkeypatch.setattr(code_hash, "_read", lambda name: read.add(name) or file(name))
    code_hash.code(f"crossmodal.{module}")
    assert {code_hash._files()[name] for name in read} == imported(f"crossmodal.{module}") - SHOWING


@pytest.fixture
def copied(tmp_path, use):
    """A copy of this package."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "crossmodal", ignore=ignored)
    return use(tmp_path / "crossmodal")


def fits():
    """Hash of the code of each method's fit."""
    forget()
    names = plugins.names("methods")
    return {n: code_hash.code("crossmodal.steps.train", f"crossmodal.methods.{n}") for n in names}


def test_loss_operator_makes_exactly_its_methods_due(copied):
    before, path = fits(), copied / "nn/losses.py"
    assert "(first + second)" in path.read_text()
    path.write_text(path.read_text().replace("(first + second)", "(first - second)"))
    after = fits()
    losses = PACKAGE / "nn/losses.py"
    users = {n for n in before if losses in imported(f"crossmodal.methods.{n}")}
    assert {name for name in before if before[name] != after[name]} == users
    assert "vase" in users
    assert "cca" not in users


def test_progress_bar_and_comments_make_nothing_due(copied):
    before = fits()
    for path in copied.rglob("*.py"):
        path.write_text(path.read_text() + "\n# a comment\n")
    for name in ("__init__.py", "io/progress.py", "errors.py"):
        (copied / name).write_text("CHANGED = True\n")
    assert fits() == before


def test_each_module_is_read_once_however_many_import_it(monkeypatch):
    forget()
    parse = Mock(wraps=code_hash.ast.parse)
    monkeypatch.setattr(code_hash.ast, "parse", parse)
    for name in code_hash._files():
        code_hash.code(name)
    assert parse.call_count == len(code_hash._files())
