"""The language of the code: variables are nouns, docstrings begin with a verb or a noun."""

import ast
import re
from pathlib import Path

import pytest

import crossmodal

ROOT = Path(__file__).parents[1]
PACKAGE = Path(crossmodal.__file__).parent
PARTICIPLES = {"found", "said", "told", "made", "shown", "kept", "known"}
CLAUSE = re.compile(r"(What|Whether|How|Of|That|So|Why|Where|When)\b")
LONGEST = 60
paths = sorted(PACKAGE.rglob("*.py"))
tests = sorted((ROOT / "tests").rglob("test_*.py"))
modules = pytest.mark.parametrize("path", paths, ids=lambda path: str(path.relative_to(PACKAGE)))


def names(tree):
    """All names that are given to values: variables, arguments and attributes."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    dictionaries = [c for c in classes if "TypedDict" in map(ast.unparse, c.bases)]
    keys = {id(node.target) for c in dictionaries for node in c.body if hasattr(node, "target")}
    for node in ast.walk(tree):
        if id(node) in keys:
            continue  # a key of a file
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@modules
def test_variables_are_nouns(path):
    assert PARTICIPLES.isdisjoint(names(ast.parse(path.read_text(encoding="utf-8"))))


@modules
def test_docstrings_are_no_clauses(path):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ast.get_docstring(node) if isinstance(node, kinds) else None
        assert not CLAUSE.match(text or ""), text


@pytest.mark.parametrize("path", tests, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_names_of_tests_are_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert len(node.name) <= LONGEST, node.name
