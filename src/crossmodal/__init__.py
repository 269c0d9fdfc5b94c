"""Cross-modal retrieval, from raw data to tables of published next to reproduced numbers.

`crossmodal.load(folder)` loads a fitted model; see `crossmodal.models.model.load`.
`crossmodal.evaluate(queries, gallery, relevance)` evaluates embeddings, codes or scores of any
origin; see `crossmodal.metrics.evaluation.evaluate`.
`crossmodal.compare(first, second)` compares two runs or evaluations on the same queries; see
`crossmodal.reporting.comparison.compare`.
`from crossmodal.methods import CCA` is a method on arrays; see `crossmodal.models.estimators`.
"""

from importlib import import_module

# by name: no code of a job; types are in __init__.pyi
_PLACES = {
    "compare": "crossmodal.reporting.comparison",
    "evaluate": "crossmodal.metrics.evaluation",
    "load": "crossmodal.models.model",
}

__all__ = ["compare", "evaluate", "load"]


def __getattr__(name: str) -> object:
    """Import a function at its first use: the import takes a second, and no command needs it."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the functions, which a shell completes before their first use."""
    return __all__
