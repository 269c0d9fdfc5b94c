"""Validation of what a feature returns; errors name the line of the plug-in."""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Items
from crossmodal.errors import CrossmodalError

KINDS = "biuf"  # of numpy's types: what a feature file holds


def extract(
    feature: Feature, dataset: Items, rows: Sequence[Any], sources: dict[str, FeatureFile]
) -> np.ndarray | list[np.ndarray]:
    """Extract some rows, see `Feature.extract`, and check what the feature returns.

    Raises:
        CrossmodalError: If these are no real numbers, not as many rows, rows without a number, or
            of another shape than the feature declares.
    """
    returned = feature.extract(dataset, rows, sources)
    arrays = returned if isinstance(returned, list) else [returned]
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in KINDS:
            raise _mistake(
                feature,
                f"{_described(array)}; expected: an array of real numbers, or a list of them",
            )
    if len(returned) != len(rows):
        raise _mistake(feature, f"{len(returned)} rows for {len(rows)}")
    if len(widths := {array.shape[1:] for array in arrays}) > 1:
        shapes = " and ".join(map(str, sorted(widths)[:2]))
        raise _mistake(feature, f"sequences whose steps differ in shape: {shapes}")
    if any(0 in width for width in widths):
        raise _mistake(feature, f"rows without a number, of the shape {arrays[0].shape}")
    actual = "vector" if arrays[0].ndim == 2 else "maps"
    actual = "sequence or files" if returned is arrays else actual
    if feature.shape not in actual:
        raise _mistake(feature, f"rows of the shape {actual}, but its `shape` is {feature.shape!r}")
    return returned


def _described(returned: object) -> str:
    if isinstance(returned, np.ndarray):
        return f"an array of {returned.dtype}"
    return type(returned).__name__


def _mistake(feature: Feature, returned: str) -> CrossmodalError:
    """Return an error that names the plug-in's file and the line of its `extract`."""
    place = type(feature).extract
    file, line = inspect.getsourcefile(place), inspect.getsourcelines(place)[1]
    return CrossmodalError(f"{file}, line {line}: extract returned {returned}")
