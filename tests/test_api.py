import ast
import inspect
import re
from pathlib import Path

import pytest

from crossmodal import api

ROOT = Path(__file__).parents[1]
EXAMPLE = re.compile(r"`plugins/\S+\.py`:\n\n```python\n(.*?)```", re.DOTALL)
ALIASES = {"Count", "Direction", "NotNegative", "Positive", "Share"}


def test_the_names_are_those_that_are_imported():
    tree = ast.parse(Path(api.__file__).read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert sorted(alias.name for node in imports for alias in node.names) == sorted(api.__all__)


@pytest.mark.parametrize("name", sorted(set(api.__all__) - ALIASES))
def test_a_name_has_a_docstring(name):
    assert inspect.getdoc(getattr(api, name))


def test_the_examples_import_only_from_it():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    examples = [code for page in pages for code in EXAMPLE.findall(page.read_text("utf-8"))]
    assert len(examples) == 3
    for code in examples:
        nodes = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.ImportFrom)]
        own = [n for n in nodes if n.module.startswith("crossmodal")]
        assert {n.module for n in own} == {"crossmodal.api"}
        assert {a.name for n in own for a in n.names} <= set(api.__all__)
