"""Retrieval methods: one file each, from features to embeddings in a shared space.

`from crossmodal.methods import CCA` is a method on arrays, in the manner of scikit-learn; see
`crossmodal.models.estimators.Estimator`.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Return the estimator of a method of vectors, by the name of its class."""
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # by name: no code of a job
    return importlib.import_module("crossmodal.models.estimators").estimator(name)
