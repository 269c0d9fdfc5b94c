"""Model folders: a fitted method with all that it takes to embed new items.

Layout: `model.json` holds `format`; `fit`, the facts of the fit; `labels`, their names; and
`views`, for each modality in order the type of its rows and the `meta` of its feature file, which
says how the feature is extracted. `model.safetensors` holds the fitted state of the method and,
under names that begin with `views/`, the arrays of `meta`. `curve.csv` is the learning curve.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from crossmodal.config import plugins
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject, read_json, readable, replacing, write_json
from crossmodal.learning.method import Method
from crossmodal.models.earlier_options import current_options
from crossmodal.models.fit_facts import Facts

FORMAT = 1
MODEL_FILES = ("curve.csv", "model.json", "model.safetensors")
VIEWS = "views/"
# raised where a JSON file has another content than was written
DAMAGE = (
    CrossmodalError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RuntimeError,
    OverflowError,
)


@dataclass(frozen=True)
class Fitted:
    """Content of a model folder.

    Args:
        method: The method, restored.
        facts: Facts of the fit, as in model.json.
        labels: Names of the dataset's labels, (C,).
        views: The views that it was fitted on, without rows; the first two are retrieved.
    """

    method: Method
    facts: Facts
    labels: tuple[str, ...]
    views: dict[str, View]


class DescribedView(TypedDict):
    """A view without its rows, as model.json has it."""

    modality: str
    sequences: bool
    shape: list[int]
    dtype: str
    meta: JsonObject


class Description(TypedDict):
    """Content of model.json; see the module."""

    format: int
    fit: Facts
    labels: list[str]
    views: list[DescribedView]


def write_model(folder: Path, method: Method, facts: Facts, train: Split) -> None:
    """Write model.json and then model.safetensors, each atomically.

    Args:
        folder: The model folder.
        method: A fitted method.
        facts: Facts of the fit.
        train: What it was fitted on.
    """
    arrays = {name: np.asarray(value, order="C") for name, value in method.state().items()}
    views = [_describe(modality, view, arrays) for modality, view in train.views.items()]
    labels = list(train.label_names)
    model: Description = {"format": FORMAT, "fit": facts, "labels": labels, "views": views}
    write_json(folder / "model.json", model)
    with replacing(folder / "model.safetensors") as temporary:
        save_file(arrays, temporary)


def _describe(modality: str, view: View, arrays: dict[str, np.ndarray]) -> DescribedView:
    """Return a view without its rows, as JSON; arrays of its `meta` are put into `arrays`."""
    values = view.features.values if isinstance(view.features, Ragged) else view.features
    return {
        "modality": modality,
        "sequences": values is not view.features,
        "shape": list(values.shape[1:]),
        "dtype": values.dtype.name,
        "meta": {k: _detach(v, f"{VIEWS}{modality}/{k}", arrays) for k, v in view.meta.items()},
    }


def _detach(value: object, name: str, arrays: dict[str, np.ndarray]) -> object:
    """Return a JSON value with the name of an array in `arrays` for each list of floats."""
    if isinstance(value, dict):
        return {key: _detach(inner, f"{name}/{key}", arrays) for key, inner in value.items()}
    if isinstance(value, list) and value and all(isinstance(entry, float) for entry in value):
        arrays[name] = np.array(value)
        return {"array": name}
    return value


def _attach(value: object, arrays: dict[str, np.ndarray]) -> object:
    """Undo `_detach`."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return arrays[value["array"]].tolist()
    return {key: _attach(inner, arrays) for key, inner in value.items()}


def read_facts(folder: Path) -> Facts:
    """Return the facts of the fit.

    Raises:
        CrossmodalError: See `read_model`.
    """
    return _read_description(folder)["fit"]


def publish_model(source: Path, folder: Path, **facts: object) -> None:
    """Copy all model files to another folder, model.safetensors last.

    Args:
        source: A model folder.
        folder: Where they go.
        facts: Further facts of the fit.
    """
    description = _read_description(source)
    _copy(source / "curve.csv", folder)
    fit = {**description["fit"], **facts}
    write_json(folder / "model.json", {**description, "fit": fit})
    _copy(source / "model.safetensors", folder)


def _copy(path: Path, folder: Path) -> None:
    with replacing(folder / path.name) as temporary:
        shutil.copyfile(path, temporary)


def read_model(folder: Path) -> Fitted:
    """Restore a fitted method.

    Raises:
        CrossmodalError: If the folder is incomplete, corrupt or of another version.
    """
    description = _read_description(folder)
    arrays = _read_arrays(folder / "model.safetensors")
    state = {name: array for name, array in arrays.items() if not name.startswith(VIEWS)}
    try:
        facts, labels = description["fit"], tuple(description["labels"])
        views = {view["modality"]: _view(view, arrays) for view in description["views"]}
        facts["options"] = current_options(facts["plugin"], facts["options"])
        method: Method = plugins.make("methods", facts["plugin"], facts["options"], "options")
        method.restore(state, views)
    except DAMAGE as error:
        raise CrossmodalError(
            f"{folder}: the model does not fit this version of crossmodal ({error}); train again"
        ) from error
    return Fitted(method, facts, labels, views)


def _read_description(folder: Path) -> Description:
    model = read_json(folder / "model.json")
    version = model.get("format") if isinstance(model, dict) else None
    if version != FORMAT:
        raise CrossmodalError(
            f"{folder / 'model.json'}: the format is {version}, but this version of crossmodal "
            f"reads {FORMAT}; train again"
        )
    return model


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        return load_file(readable(path))
    except (OSError, SafetensorError) as error:
        raise CrossmodalError(f"{path}: incomplete or corrupt ({error}); train again") from error


def _view(description: DescribedView, arrays: dict[str, np.ndarray]) -> View:
    """Return a view without rows, of the width and type that was described."""
    values = np.zeros((0, *description["shape"]), description["dtype"])
    features = Ragged(values, np.zeros(1, np.int64)) if description["sequences"] else values
    meta = {name: _attach(value, arrays) for name, value in description["meta"].items()}
    return View(features, np.zeros(0, int), [], meta)
