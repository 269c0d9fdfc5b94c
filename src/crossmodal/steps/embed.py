"""Embed the validation and test splits: the first step that opens the test split."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from crossmodal import plugins
from crossmodal.data import Split, load_split
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.selection import pools
from crossmodal.files import read_json, replacing
from crossmodal.methods.base import Method
from crossmodal.prepared import Prepared

SPLITS = ("validation", "test")


def embed(spec: dict[str, Any], output: Path, folder: Path, features: Path, model: Path) -> None:
    """Write the embeddings of one run.

    Layout: per split and modality `embeddings` (rows, ...), `ids` (rows,), `items` (rows,) the
    index of the item of each row and, where the dataset has labels, `labels` (rows, C); attribute
    `model`, the facts of the run as JSON; attribute `modalities`, first and second view.

    Args:
        spec: `views` and `labels` of the run.
        output: The embedding file.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's features.
        model: model.safetensors, beside its model.json.
    """
    facts = read_json(model.with_suffix(".json"))
    method: Method = plugins.make("methods", facts["plugin"], facts["options"], "options")
    views = {modality: features / f"{name}.h5" for modality, name in spec["views"].items()}
    dataset = Prepared(folder)
    splits = {name: load_split(dataset, views, name, spec["labels"]) for name in SPLITS}
    method.restore(_load(model), splits["validation"].views)
    with replacing(output) as temporary, h5py.File(temporary, "w") as file:
        file.attrs["model"] = json.dumps(facts)
        file.attrs["modalities"] = list(views)[:2]
        for name, split in splits.items():
            _write_split(file.create_group(name), method, split)


def _load(model: Path) -> dict[str, np.ndarray]:
    try:
        return load_file(model)
    except (OSError, SafetensorError) as error:
        raise CrossmodalError(f"{model}: not a whole model ({error}); train again") from error


def _write_split(group: h5py.Group, method: Method, split: Split) -> None:
    for modality, pool in pools(method, split).items():
        view = group.create_group(modality)
        view["embeddings"], view["items"] = pool.embeddings, pool.items
        view["ids"] = split.views[modality].ids
        if pool.labels is not None:
            view["labels"] = pool.labels
