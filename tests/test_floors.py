"""The package is built in floors: a folder imports from floors below its own alone."""

import ast
from collections import Counter
from pathlib import Path

import crossmodal

PACKAGE = Path(crossmodal.__file__).parent
# from the top; folders on one floor do not import each other
FLOORS = [
    {"__main__"},
    {"cli"},
    {"commands"},
    {"steps", "integrations"},
    {"methods", "reporting", "search"},
    {"api", "models"},
    {"training", "features", "workflow"},
    {"learning", "pretrained"},
    {"nn", "images", "datasets", "config"},
    {"data"},
    {"metrics", "rendering", "io"},
    {"device", "repeatability", "vectors", "errors", "plugin"},
]
HEIGHT = {room: -floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def imports(path):
    """First folders or modules of the package that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("crossmodal."))


def modules():
    return [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]


def test_imports_go_down_only():
    upwards = []
    for path in modules():
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for target in imports(path):
            if target != room and HEIGHT[target] >= HEIGHT[room]:
                upwards.append(f"{path.relative_to(PACKAGE)} imports {target}")
    assert not upwards


def test_few_modules_stand_beside_the_packages():
    beside = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert len(beside) <= 6, beside


def test_no_two_modules_have_the_same_name():
    # a step has the name of its rule, a command its own on the command line
    called = {PACKAGE / "steps", PACKAGE / "commands"}
    names = Counter(path.stem for path in modules() if path.parent not in called)
    assert not [name for name, count in names.items() if count > 1]
