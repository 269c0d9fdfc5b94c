"""Evaluate a model with mteb, on tasks of mteb or on prepared datasets."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crossmodal.config.params import read
from crossmodal.errors import CrossmodalError
from crossmodal.io.text_table import print_table

HIT_RATES = (1, 5, 10)


def mteb(
    folder: Path | str,
    tasks: list[str],
    split: str,
    output: Path,
    weights: Path,
    path: Path,
    overlays: Sequence[Path] = (),
) -> None:
    """Write mteb's result file and rankings of each task, and print its main numbers.

    Args:
        folder: The model folder, or `hf://ORG/NAME`.
        tasks: Names of mteb's tasks, keys of `datasets`, or folders of prepared datasets.
        split: Split of prepared datasets.
        output: Folder of the results, in mteb's own layout.
        weights: Folder of networks' weights.
        path: params.yaml, which says the language and licence of datasets; without one, English.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If mteb is not installed, a task is unknown or cannot be downloaded, or the
            model does not embed its modalities.
    """
    try:
        import datasets
        import mteb as evaluator

        from crossmodal.integrations.mteb import check_task, load_model, tasks_of, trained_on
    except ImportError as error:
        raise CrossmodalError(
            f"mteb needs {error.name}: pip install 'crossmodal-retrieval[mteb]'"
        ) from error
    datasets.disable_progress_bars()
    params = read(path, *overlays) if path.exists() else None
    entries = {n: params.dataset_of(n) for n in params.usable("datasets")} if params else {}
    model, cache = load_model(folder, weights, entries), evaluator.ResultCache(output)
    selection = [
        task
        for name in tasks
        for task in tasks_of(
            name, model.model, split, entries[name].language if name in entries else "en"
        )
    ]
    for task in selection:
        check_task(task, model)
        if items := trained_on(task, model):
            print(
                f"warning: {task.metadata.name}: the model was trained on {items}, so that it is "
                "no test of it",
                file=sys.stderr,
            )
    for task in selection:
        _load(task)
        result = evaluator.evaluate(
            model,
            task,
            cache=cache,
            co2_tracker=False,
            overwrite_strategy="always",
            show_progress_bar=False,
            encode_kwargs={"show_progress_bar": False},
            prediction_folder=_rankings(output, model.mteb_model_meta),
        )
        _print(result.task_results[0])
        print(cache.get_task_result_path(task.metadata.name, model.mteb_model_meta))
        task.unload_data()


def _rankings(output: Path, meta: Any) -> Path:
    """Return the folder of mteb's predictions: each query's documents with their scores."""
    return output / "predictions" / meta.name.replace("/", "__") / meta.revision


def _load(task: Any) -> None:
    """Load the data of a task; mteb downloads them once."""
    try:
        task.load_data()
    except CrossmodalError:
        raise
    except Exception as error:  # the libraries of the download raise anything
        raise CrossmodalError(
            f"{task.metadata.name}: mteb cannot load its data "
            f"({type(error).__name__}: {str(error).splitlines()[0]}); they are downloaded once, "
            "into the folder that HF_HOME names: check the network and run the same command again"
        ) from error


def _print(result: Any) -> None:
    """Print the scores of each split and language."""
    rows = [
        (split, scores["hf_subset"], f"{scores['main_score']:.5f}", *_hit_rates(scores))
        for split, subsets in result.scores.items()
        for scores in subsets
    ]
    columns = ("split", "subset", "main score", *(f"R@{k}" for k in HIT_RATES))
    print_table(result.task_name, columns, rows)


def _hit_rates(scores: dict[str, float]) -> list[str]:
    """Return percentages, if the task is one of retrieval."""
    rates = (scores.get(f"hit_rate_at_{k}") for k in HIT_RATES)
    return ["" if rate is None else f"{100 * rate:.3f}" for rate in rates]
