"""Fit one method with one seed; options that are searched are chosen on the validation split, by
this seed or by the first one.

Several processes may fit it together, see `crossmodal.training.processes`; the first one writes.
"""

import resource
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from crossmodal.config import plugins
from crossmodal.config.grids import combinations
from crossmodal.data.learnable import require_items
from crossmodal.data.prepared import Prepared
from crossmodal.data.split import Split, load_split
from crossmodal.errors import CrossmodalError, DivergenceError
from crossmodal.io.checkpoints import unfinished_work
from crossmodal.io.files import write_csv
from crossmodal.io.provenance import provenance
from crossmodal.io.seals import is_whole, seal
from crossmodal.learning.method import Method, Run
from crossmodal.learning.plateau import plateau
from crossmodal.learning.selection import selection_score
from crossmodal.models.model_folder import MODEL_FILES, publish_model, read_facts, write_model
from crossmodal.repeatability import use_deterministic_algorithms
from crossmodal.training.processes import broadcast_from_first, is_first, joined, processes
from crossmodal.workflow.records import verified


def train(
    spec: dict[str, Any],
    output: Path,
    folder: Path,
    features: Path,
    weights: Path,
    seed: int,
    threads: int = 1,
) -> None:
    """Write model.safetensors, model.json and curve.csv next to `output`.

    Args:
        spec: `plugin`, `options`, `search`, `views`, `relevance`, `code`, a hash of the source,
            `searched_by` if it is 'first', `changes` of the dataset if there are any, and
            `deterministic` if the method can use a GPU.
        output: Path of model.safetensors, <experiment>/seed<n>/.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's features.
        weights: Folder of networks' weights.
        seed: Seeds everything random.
        threads: How many may work at the same time.

    Raises:
        CrossmodalError: If data and method do not fit together.
        DivergenceError: If training diverges with all options that are searched.
    """
    use_deterministic_algorithms(spec.get("deterministic"))
    with joined(), ExitStack() as stack:
        _refuse_processes(spec)
        views = {modality: features / f"{name}.h5" for modality, name in spec["views"].items()}
        tables = [folder / "items.csv", folder / "splits.csv"]
        searched_there = _searched_there(spec, output, seed)
        inputs = [*tables, *views.values(), *searched_there]
        unfinished = unfinished_work(output.parent, [spec, seed], inputs)
        work = broadcast_from_first(lambda: stack.enter_context(unfinished))
        read = broadcast_from_first(lambda: verified([*inputs, *_weights(spec, weights)]))
        dataset = Prepared(folder)
        how = (spec["relevance"], spec.get("changes"))
        splits = [load_split(dataset, views, split, *how) for split in ("train", "validation")]
        require_items(splits[0])
        _refuse_constant(splits[0], views)
        fitted, searched = {}, []
        taken = [read_facts(path.parent)["searched"] for path in searched_there]
        for index, options in enumerate(taken or combinations(spec["search"])):
            candidate = work / f"candidate{index}"
            if not broadcast_from_first(partial(_is_fitted, candidate)):
                label = f"{output.parent} {options or ''}".strip()
                run = Run(seed, candidate, label=label, threads=max(1, threads // processes()))
                try:
                    _fit(spec, options, splits, run, weights)
                except DivergenceError as error:
                    diverged = error
                    searched.append({"searched": options, "diverged": str(error)})
                    if is_first():
                        print(f"not chosen: {error}", file=sys.stderr, flush=True)
                    continue
            facts = broadcast_from_first(partial(read_facts, candidate))
            fitted[candidate] = facts["validation"]
            searched.append({key: facts[key] for key in ("searched", "validation")})
        if not fitted:
            raise diverged
        best = max(fitted, key=fitted.get)  # of equals the first
        if is_first():
            facts = {"remarks": dataset.remarks} if dataset.remarks else {}
            facts |= {"search": searched, "made": provenance(spec, read)}
            publish_model(best, output.parent, **facts)


def _is_fitted(candidate: Path) -> bool:
    """Return true if all files of a model are there and undamaged."""
    return all(is_whole(candidate / name) for name in MODEL_FILES)


def _searched_there(spec: dict[str, Any], output: Path, seed: int) -> list[Path]:
    """Facts of the fit that has searched the options of this one; empty if it searches itself."""
    if spec.get("searched_by") != "first" or seed == 0:
        return []
    return [output.parent.with_name("seed0") / "model.json"]


def _refuse_constant(train: Split, views: dict[str, Path]) -> None:
    """Check that the training rows of each view differ."""
    for modality, view in train.views.items():
        if view.is_constant():
            raise CrossmodalError(
                f"{views[modality]}: all {len(view.ids)} training rows of {modality} are equal, so "
                "that nothing can be learnt from them; choose another feature"
            )


def _refuse_processes(spec: dict[str, Any]) -> None:
    """Whether the method can be trained by as many processes as there are."""
    if processes() == 1:
        return
    if not plugins.make("methods", spec["plugin"], spec["options"], "options").distributed:
        raise CrossmodalError(
            f"gpus: is {processes()}, but the method {spec['plugin']!r} trains on one; "
            "ask for no more"
        )


def _weights(spec: dict[str, Any], folder: Path) -> list[Path]:
    """The weights that the method begins with."""
    method = plugins.make("methods", spec["plugin"], spec["options"], "options")
    return [folder / method.weights] if method.weights else []


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
    if not is_first():
        return
    facts = {
        "plugin": spec["plugin"],
        "options": chosen,
        "searched": options,
        "relevance": spec["relevance"],
        "seed": run.seed,
        "validation": selection_score(method, splits[1]),
        "last_epoch": run.curve[-1] if run.curve else {},
        "plateau": plateau(run.curve),
        "fit_seconds": round(time.monotonic() - start, 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak_gpu_memory_mb": _peak_gpu_memory_mb(),
    }
    columns = list(run.curve[0]) if run.curve else ["epoch"]
    write_csv(run.checkpoints / "curve.csv", columns, [row.values() for row in run.curve])
    write_model(run.checkpoints, method, facts, splits[0])
    for name in MODEL_FILES:
        seal(run.checkpoints / name)


def _peak_gpu_memory_mb() -> int:
    """Return the peak of a GPU's memory in this process; 0 without one."""
    torch = sys.modules.get("torch")  # what has not loaded it has not computed with it
    if torch and torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() // 2**20
    return 0
