"""Description of a model for mteb's leaderboard."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from safetensors import safe_open

from crossmodal.data.dataset import Dataset
from crossmodal.integrations.mteb.languages import language_and_script
from crossmodal.models.model import Model
from crossmodal.reporting.cards import licence
from crossmodal.reporting.model_card import networks

MEGABYTE = 2**20


def sizes(model: Model, folder: Path, weights: Path) -> dict[str, Any]:
    """Return parameters and memory, those of its networks too; nothing where one is missing.

    Args:
        model: The model.
        folder: Its files.
        weights: Folder of networks' weights.
    """
    names = {file for meta in model.features.values() for file in networks(meta)}
    files = [folder / "model.safetensors", *(weights / name for name in sorted(names))]
    if not all(file.is_file() for file in files):
        return {}
    megabytes = sum(file.stat().st_size for file in files) / MEGABYTE
    return {"n_parameters": sum(map(_numbers, files)), "memory_usage_mb": round(megabytes, 3)}


def _numbers(path: Path) -> int:
    """Return how many numbers the tensors of a file have, by its header."""
    with safe_open(path, "np") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def origins(datasets: Iterable[tuple[str, Dataset]]) -> dict[str, Any]:
    """Return what follows from the data that a model was fitted on; nothing if that is not known.

    Args:
        datasets: By name in params.yaml.
    """
    by_name = dict(datasets)
    if not by_name:
        return {}
    tasks = {task for data in by_name.values() for task in data.mteb_tasks}
    terms = {licence(data.licence)[0] for data in by_name.values()}
    return {
        "training_datasets": {*by_name} | tasks,
        "languages": sorted({language_and_script(data.language) for data in by_name.values()}),
        "license": terms.pop() if len(terms) == 1 and "other" not in terms else None,
    }
