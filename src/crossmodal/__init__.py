"""Cross-modal retrieval, from raw data to tables of published next to reproduced numbers.

`crossmodal.load(folder)` loads a fitted model; see `crossmodal.models.model.load`.
`crossmodal.evaluate(queries, gallery, relevance)` evaluates embeddings, codes or scores of any
origin; see `crossmodal.metrics.evaluation.evaluate`.
`from crossmodal.methods import CCA` is a method on arrays; see `crossmodal.models.estimators`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossmodal.metrics.evaluation import evaluate
    from crossmodal.models.model import load

__all__ = ["evaluate", "load"]


def __getattr__(name: str) -> object:
    """Import a function at its first use: the import takes a second, and no command needs it."""
    if name == "load":
        from crossmodal.models.model import load

        return load
    if name == "evaluate":
        from crossmodal.metrics.evaluation import evaluate

        return evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
