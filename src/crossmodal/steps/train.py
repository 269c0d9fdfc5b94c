"""Fit one method with one seed.

Options that are searched are chosen on the validation split, by this seed or by the first one.
Several processes may fit it together, see `crossmodal.training.processes`; the first one writes.
"""

import resource
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from crossmodal.config import plugins
from crossmodal.config.fit import Options, non_defaults
from crossmodal.config.grids import combinations
from crossmodal.data.learnable import require_items
from crossmodal.data.prepared import Prepared
from crossmodal.data.split import Split, load_split
from crossmodal.errors import CrossmodalError, DivergenceError
from crossmodal.io.checkpoints import unfinished_work
from crossmodal.io.files import readable
from crossmodal.io.provenance import provenance
from crossmodal.io.seals import is_whole, seal
from crossmodal.learning.curve import LearningCurve
from crossmodal.learning.method import Method, Run
from crossmodal.learning.plateau import plateau
from crossmodal.learning.selection import selection_score
from crossmodal.models.fit_facts import Candidate, Facts
from crossmodal.models.model_folder import MODEL_FILES, publish_model, read_facts, write_model
from crossmodal.repeatability import use_deterministic_algorithms
from crossmodal.training.processes import broadcast_from_first, is_first, joined, processes
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import TrainSpec


def train(
    spec: TrainSpec,
    output: Path,
    folder: Path,
    features: Path,
    weights: Path,
    seed: int,
    threads: int = 1,
) -> None:
    """Write model.safetensors, model.json and curve.csv next to `output`.

    Args:
        spec: The method with its options, what it learns from, and the hash of the code.
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
    use_deterministic_algorithms(spec.deterministic)
    with joined(), ExitStack() as stack:
        method: Method = plugins.make("methods", spec.plugin, spec.options, "options")
        _refuse_processes(spec.plugin, method)
        network = weights / method.weights if method.weights else None
        views = {modality: features / f"{name}.h5" for modality, name in spec.views.items()}
        first = [output.parent.with_name("seed0") / "model.json"]
        first = first if spec.searched_by == "first" and seed else []
        inputs = [folder / "items.csv", folder / "splits.csv", *views.values(), *first]
        inputs += [network] if network else []
        read = broadcast_from_first(lambda: verified(map(readable, inputs)))
        unfinished = unfinished_work(output.parent, [non_defaults(spec), seed, read])
        work = broadcast_from_first(lambda: stack.enter_context(unfinished))
        dataset = Prepared(folder)
        train, validation = (
            load_split(dataset, views, split, spec.relevance, spec.changes)
            for split in ("train", "validation")
        )
        require_items(train)
        _refuse_constant(train, views)
        label, threads = str(output.parent), max(1, threads // processes())
        run = Run(seed, work, label=label, weights=network, threads=threads)
        fit = partial(_fit, spec, train, validation, run)
        chosen = [read_facts(path.parent)["searched"] for path in first]
        best, tried = _search(fit, chosen or combinations(spec.search), work)
        if is_first():
            facts: dict[str, object] = {"remarks": dataset.remarks} if dataset.remarks else {}
            facts |= {"search": tried, "made": provenance(spec.code, read)}
            publish_model(best, output.parent, **facts)


def _search(
    fit: Callable[[Options, Path], None], combinations: list[Options], work: Path
) -> tuple[Path, list[Candidate]]:
    """Return the model folder with the best validation score, and all candidates.

    Args:
        fit: Fits a combination of options and writes its model folder.
        combinations: What is searched.
        work: Gets a model folder for each; what an earlier process finished is not fitted again.

    Raises:
        DivergenceError: If all diverge.
    """
    scores: dict[Path, float] = {}
    tried: list[Candidate] = []
    for index, options in enumerate(combinations):
        candidate = work / f"candidate{index}"
        if not broadcast_from_first(partial(_is_fitted, candidate)):
            try:
                fit(options, candidate)
            except DivergenceError as error:
                diverged = error
                tried.append({"searched": options, "diverged": str(error)})
                if is_first():
                    print(f"not chosen: {error}", file=sys.stderr, flush=True)
                continue
        facts = broadcast_from_first(partial(read_facts, candidate))
        scores[candidate] = facts["validation"]
        tried.append({"searched": facts["searched"], "validation": facts["validation"]})
    if not scores:
        raise diverged
    return max(scores, key=scores.__getitem__), tried  # of equals the first


def _is_fitted(candidate: Path) -> bool:
    """Return true if all files of a model are there and undamaged."""
    return all(is_whole(candidate / name) for name in MODEL_FILES)


def _refuse_constant(train: Split, views: dict[str, Path]) -> None:
    """Check that the training rows of each view differ."""
    for modality, view in train.views.items():
        if view.is_constant():
            raise CrossmodalError(
                f"{views[modality]}: all {len(view.ids)} training rows of {modality} are equal, so "
                "that nothing can be learnt from them; choose another feature"
            )


def _refuse_processes(plugin: str, method: Method) -> None:
    """Check that the method can be trained by as many processes as there are."""
    if processes() > 1 and not method.distributed:
        raise CrossmodalError(
            f"gpus: is {processes()}, but the method {plugin!r} trains on one; ask for no more"
        )


def _fit(
    spec: TrainSpec, train: Split, validation: Split, run: Run, options: Options, folder: Path
) -> None:
    """Fit one combination of options and write its model folder."""
    folder.mkdir(exist_ok=True)
    label = f"{run.label} {options or ''}".strip()
    run = replace(run, checkpoints=folder, curve=[], label=label)
    chosen = spec.options | options
    method: Method = plugins.make("methods", spec.plugin, chosen, "options")
    start = time.monotonic()
    method.fit(train, validation, run)
    if not is_first():
        return
    facts: Facts = {
        "plugin": spec.plugin,
        "options": chosen,
        "searched": options,
        "relevance": spec.relevance,
        "seed": run.seed,
        "validation": selection_score(method, validation),
        "last_epoch": run.curve[-1] if run.curve else {},
        "plateau": plateau(run.curve),
        "fit_seconds": round(time.monotonic() - start, 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak_gpu_memory_mb": _peak_gpu_memory_mb(),
    }
    LearningCurve(run.curve).write(folder / "curve.csv")
    write_model(folder, method, facts, train)
    for name in MODEL_FILES:
        seal(folder / name)


def _peak_gpu_memory_mb() -> int:
    """Return the peak of a GPU's memory in this process; 0 without one."""
    torch = sys.modules.get("torch")  # what has not loaded it has not computed with it
    if torch and torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() // 2**20
    return 0
