"""Cross-modal retrieval, from raw data to tables of published next to reproduced numbers.

`crossmodal.load(folder)` loads a fitted model; see `crossmodal.models.model.load`.
"""

import importlib
from typing import Any

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """Import `load` when it is first wanted: it takes a second, and no command needs it."""
    if name == "load":
        return importlib.import_module("crossmodal.models.model").load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
