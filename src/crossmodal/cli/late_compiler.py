"""PyTorch's compiler, loaded where something is compiled: its import takes two seconds of a job.

Optimizers import it for two functions that do nothing while nothing is compiled, and torchvision
for a third, which it calls on GPUs alone.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

COMPILER, UTILITIES = "torch._dynamo", "torch._dynamo.utils"


class _Late(ModuleType):
    """A module that is loaded at the first use of what it lacks, and then replaced."""

    def __getattr__(self, name: str) -> Any:
        is_path = (self.__name__, name) == (COMPILER, "__path__")  # of a package's modules
        if name.startswith("__") and not is_path:  # asked of every module that there is
            raise AttributeError(name)
        return getattr(_loaded(self.__name__), name)


def put_off_compiler() -> None:
    """Let PyTorch's compiler be loaded at its first use, unless it is there."""
    if COMPILER in sys.modules:
        return
    compiler, utilities = _Late(COMPILER), _Late(UTILITIES)
    compiler.__dict__.update(graph_break=_graph_break, disable=_disable)
    utilities.__dict__.update(is_compile_supported=_is_compile_supported)
    sys.modules |= {COMPILER: compiler, UTILITIES: utilities}


def _loaded(name: str) -> ModuleType:
    """Load a module in place of what stands for it."""
    for late in (COMPILER, UTILITIES):
        if isinstance(sys.modules.get(late), _Late):
            del sys.modules[late]
    return importlib.import_module(name)


def _graph_break(*_: object, **__: object) -> None:
    """Do nothing, since nothing is traced."""


def _disable(function: Callable | None = None, *_: object, **__: object) -> Callable:
    """Return a function as it is, since nothing is traced."""
    return function or _disable


def _is_compile_supported(device: str) -> bool:
    """Ask the compiler."""
    return _loaded(UTILITIES).is_compile_supported(device)
