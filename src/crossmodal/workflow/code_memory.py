"""Record of what each module's code says, since to parse all modules takes a second."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from crossmodal.io.files import write_text
from crossmodal.io.shaped_json import recall
from crossmodal.plugin import Strict

FILE = Path(".snakemake/code-read.json")  # beside params.yaml


class Module(Strict):
    """Record of one module.

    Attributes:
        of: Hash of its source, and of what read it.
        digest: Hash of its own code.
        imports: Names that may be modules.
    """

    of: str
    digest: str
    imports: list[str]


MODULES = TypeAdapter(dict[str, Module])


class CodeMemory:
    """Modules that were read before, in this process or, once `opened`, in an earlier one."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._modules: dict[str, Module] = {}
        self._changed = False

    def opened(self, file: Path) -> None:
        """Take over what a file has; `keep` writes there what is read from now on."""
        self._file = file
        self._modules = recall(file, MODULES, self._modules)

    def module(self, name: str, of: str, read: Callable[[], tuple[str, set[str]]]) -> Module:
        """Return what was read of a module, which is read unless its source is as it was."""
        if name not in self._modules or self._modules[name].of != of:
            digest, imports = read()
            self._modules[name] = Module(of=of, digest=digest, imports=sorted(imports))
            self._changed = True
        return self._modules[name]

    def keep(self) -> None:
        """Write what was read, if any of it is new."""
        if self._file and self._changed:
            with suppress(OSError):  # the project's folder may be somebody else's
                write_text(self._file, MODULES.dump_json(self._modules).decode())
