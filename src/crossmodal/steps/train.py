"""Fit one method with one seed; options that are searched are chosen on the validation split."""

import platform
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from crossmodal import plugins
from crossmodal.checkpoints import checkpoints
from crossmodal.data import Split, load_split
from crossmodal.evaluation.selection import selection_score
from crossmodal.files import read_json, replacing, write_csv, write_json
from crossmodal.methods.base import Method, Run
from crossmodal.prepared import Prepared
from crossmodal.search import combinations

MODEL_FILES = ("curve.csv", "model.json", "model.safetensors")


def train(
    spec: dict[str, Any], output: Path, folder: Path, features: Path, weights: Path, seed: int
) -> None:
    """Write model.safetensors, model.json and curve.csv next to `output`.

    Args:
        spec: `plugin`, `options`, `search`, `views`, `labels` and `code`, a hash of the source.
        output: Path of model.safetensors.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's features.
        weights: Folder of networks' weights.
        seed: Seeds everything random.

    Raises:
        CrossmodalError: If data and method do not fit together, or training diverges.
    """
    views = {modality: features / f"{name}.h5" for modality, name in spec["views"].items()}
    tables = [folder / "items.csv", folder / "splits.csv"]
    with checkpoints(output.parent, [spec, seed], [*tables, *views.values()]) as work:
        dataset = Prepared(folder)
        splits = [load_split(dataset, views, s, spec["labels"]) for s in ("train", "validation")]
        candidates = {}
        for index, options in enumerate(combinations(spec["search"])):
            candidate = work / f"candidate{index}"
            if not (candidate / "model.safetensors").exists():
                label = f"{output.parent} {options or ''}".strip()
                _fit(spec, options, splits, Run(seed, candidate, label=label), weights)
            candidates[candidate] = read_json(candidate / "model.json")
        # ties go to the first, so the order of the searched values matters
        best = max(candidates, key=lambda candidate: candidates[candidate]["validation"])
        searched = [{k: c[k] for k in ("searched", "validation")} for c in candidates.values()]
        _publish(best, output.parent, searched)


def _fit(
    spec: dict[str, Any], options: dict[str, Any], splits: list[Split], run: Run, weights: Path
) -> None:
    """Fit one combination of options and write its files into `run.checkpoints`."""
    run.checkpoints.mkdir(exist_ok=True)
    chosen = spec["options"] | options
    method: Method = plugins.make("methods", spec["plugin"], chosen, "options")
    run.weights = weights / method.weights if method.weights else None
    start = time.monotonic()
    method.fit(*splits, run)
    facts = {
        "plugin": spec["plugin"],
        "options": chosen,
        "searched": options,
        "seed": run.seed,
        "validation": selection_score(method, splits[1]),
        "last_epoch": run.curve[-1] if run.curve else {},
        "fit_seconds": round(time.monotonic() - start, 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "machine": platform.machine(),
    }
    columns = list(run.curve[0]) if run.curve else ["epoch"]
    write_csv(run.checkpoints / "curve.csv", columns, [row.values() for row in run.curve])
    write_json(run.checkpoints / "model.json", facts)
    state = {name: np.asarray(value, order="C") for name, value in method.state().items()}
    with replacing(run.checkpoints / "model.safetensors") as temporary:
        save_file(state, temporary)


def _publish(candidate: Path, output: Path, search: list[dict[str, Any]]) -> None:
    """Copy a candidate's files to their place, the model last."""
    facts = read_json(candidate / "model.json")
    write_json(candidate / "model.json", facts | {"search": search})
    for name in MODEL_FILES:
        with replacing(output / name) as temporary:
            shutil.copyfile(candidate / name, temporary)
