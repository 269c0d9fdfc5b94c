"""Hash of the code that a job runs: a job is due when code changes that can change its output.

What is hashed is the syntax tree of the job's modules, and of all that they import from the
package or from packages of plug-ins, without comments, docstrings, descriptions of options and
messages to the user.
"""

import ast
import functools
import hashlib
import sys
from pathlib import Path

from crossmodal.config import plugin_files
from crossmodal.workflow.code_memory import CodeMemory

PACKAGE = Path(__file__).parents[1]
# what shows something to the user, refuses files or names the public API, and computes nothing
MODULES = {"", "errors", "io.progress", "io.relative_names", "workflow.carrier", "workflow.records"}
FUNCTIONS = {"print", "warnings.warn"}
MEMORY = CodeMemory()
READER = sys.version.encode() + Path(__file__).read_bytes()  # syntax trees are Python's


@functools.cache
def code(*modules: str) -> str:
    """Hash of `modules` and of all that they import from the package, transitively.

    Args:
        modules: Full names, for example 'crossmodal.steps.train'.
    """
    hashed, todo = set(), set(modules)
    while todo:
        hashed |= todo
        todo = {imported for name in todo for imported in _read(name)[1]} - hashed
    hashes = (f"{name} {_read(name)[0]}\n" for name in sorted(hashed))
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


@functools.cache
def _files() -> dict[str, Path]:
    """Return the file of every module that computes something, plug-ins elsewhere included."""
    files = {_name(path): path for path in PACKAGE.rglob("*.py")}
    own = {name: path for name, path in files.items() if name.partition(".")[2] not in MODULES}
    return own | plugin_files.sources()


def _name(path: Path) -> str:
    parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _read(module: str) -> tuple[str, frozenset[str]]:
    """Hash of a module's own code, and the modules of the package that importing it runs."""
    path = _files()[module]
    name = f"{module}.__init__" if path.stem == "__init__" else module
    source = path.read_bytes()
    of = hashlib.sha256(READER + name.encode() + source).hexdigest()
    read = MEMORY.module(module, of, functools.partial(_parsed, name, source))
    # importing a.b.c runs a and a.b too
    parents = {n.rsplit(".", depth)[0] for n in {*read.imports, module} for depth in (1, 2, 3)}
    return read.digest, frozenset(parents.union(read.imports) & _files().keys())


def _parsed(name: str, source: bytes) -> tuple[str, set[str]]:
    """Hash of a module's own code, and what it imports; see `_Reader`."""
    reader = _Reader(name)
    tree = reader.visit(ast.parse(source))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), reader.imports


class _Reader(ast.NodeTransformer):
    """Drops what is written for people alone, and notes what is imported.

    Args:
        module: Full name of what is read; of a package, with `.__init__`.

    Attributes:
        imports: Names that may be modules: `from a import b` is a, and perhaps a.b.
    """

    def __init__(self, module: str) -> None:
        self.module, self.imports = module, set[str]()

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """Note the modules."""
        self.imports |= {alias.name for alias in node.names}
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Note the module, and the names in it that may be modules."""
        above = self.module.split(".")[: -node.level] if node.level else []
        module = ".".join([*above, *([node.module] if node.module else [])])
        self.imports |= {module, *(f"{module}.{a.name}" for a in node.names)}
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop docstrings, and calls that show something."""
        value = node.value
        shows = isinstance(value, ast.Call) and ast.unparse(value.func) in FUNCTIONS
        return None if shows or isinstance(value, ast.Constant) else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Drop what an exception says, but not which one it is."""
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Drop what `Field` says of an option."""
        if isinstance(node.func, ast.Name) and node.func.id == "Field":
            node.keywords = [word for word in node.keywords if word.arg != "description"]
        return self.generic_visit(node)
