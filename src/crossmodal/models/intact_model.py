"""Model folders of anybody: parts that do not fit together are refused before they are used."""

import itertools
import math
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import numpy as np
from safetensors import safe_open

from crossmodal.config import plugins
from crossmodal.data.feature_file import Ragged
from crossmodal.data.own_items import MODALITIES
from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject
from crossmodal.learning.contract import embed, score
from crossmodal.models.model_folder import DAMAGE, Fitted, read_facts, read_model

SMALL = 1 << 20  # numbers that any model may have


def read_intact_model(folder: Path) -> Fitted:
    """Restore a fitted method, and see that it embeds and scores.

    Raises:
        CrossmodalError: If the folder is incomplete, corrupt or of another version, if its parts do
            not fit together, or if its network would be larger than what is stored of it.
    """
    tensors = folder / "model.safetensors"
    with limited(folder):
        fitted = read_model(folder)
    try:
        _check_numbers(tensors)
        _check_views(fitted.views, max(SMALL, tensors.stat().st_size))
        _try_out(fitted)
    except DAMAGE as error:
        raise CrossmodalError(
            f"{folder}: the parts of the model do not fit together ({error}); fetch it again, or "
            "train again"
        ) from error
    return fitted


def limited(folder: Path) -> AbstractContextManager[object]:
    """Return what keeps a network from having more numbers than its stored tensors have bytes."""
    tensors = folder / "model.safetensors"
    with suppress(*DAMAGE, OSError):  # of which `read_model` says more
        if plugins.load("methods", read_facts(folder)["plugin"]).gpu:
            from crossmodal.models.limited_tensors import LimitedTensors

            return LimitedTensors(max(SMALL, tensors.stat().st_size))
    return nullcontext()


def _check_numbers(path: Path) -> None:
    """Check that all numbers of a file of tensors are finite."""
    with safe_open(path, "np") as file:
        for name in file.keys():  # noqa: SIM118 - it is no dict
            if not np.isfinite(file.get_tensor(name)).all():
                raise ValueError(f"{name} has values that are NaN or infinite")


def _check_views(views: dict[str, View], largest: int) -> None:
    """Check modalities, that rows are of numbers, not more than the model's, and texts."""
    if len(views) < 2 or not views.keys() <= {*MODALITIES.values()}:
        raise ValueError(f"its views are {[*views]}; two of {', '.join(MODALITIES.values())}")
    for modality, view in views.items():
        if _width(view) > largest or values_of(view).dtype.kind not in "biuf":
            kind = values_of(view).dtype
            raise ValueError(f"rows of {modality} are {_width(view):,} values of {kind}")
        _check_texts(view.meta)


def values_of(view: View) -> np.ndarray:
    """Return the rows of a view, or the steps of all of its sequences."""
    return view.features.values if isinstance(view.features, Ragged) else view.features


def _check_texts(meta: JsonObject) -> None:
    """Check that words and language are texts, of the features that one is computed from too."""
    texts = [*meta.get("vocabulary", ()), meta.get("extractor", {}).get("language", "")]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its vocabulary or its language is no text")
    for source in meta.get("sources", {}).values():
        _check_texts(source)


def _width(view: View) -> int:
    return math.prod(values_of(view).shape[1:])


def _try_out(fitted: Fitted) -> None:
    """Embed and score a row of ones of each view of vectors."""
    rows = {}
    for modality, view in itertools.islice(fitted.views.items(), 2):
        if isinstance(view.features, np.ndarray) and view.features.ndim == 2:
            ones = np.ones((1, _width(view)), view.features.dtype)
            one = View(ones, np.arange(1), [""], view.meta)
            rows[modality] = embed(fitted.method, modality, one)
    if len(rows) == 2:
        first, second = rows
        score(fitted.method, rows[first], rows[second], (first, second))
