"""Cross-modal retrieval, from raw data to tables of published next to reproduced numbers.

`crossmodal.load(folder)` loads a fitted model; see `crossmodal.models.model.load`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossmodal.models.model import load

__all__ = ["load"]


def __getattr__(name: str) -> object:
    """Import `load` at its first use: the import takes a second, and no command needs it."""
    if name == "load":
        from crossmodal.models.model import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
