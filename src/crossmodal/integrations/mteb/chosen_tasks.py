"""Tasks by name, and checks that a model supports them."""

import importlib.util
from pathlib import Path

import mteb
from mteb.abstasks import AbsTask, AbsTaskRetrieval

from crossmodal.config import plugins
from crossmodal.data.prepared import PREPARED, Prepared, is_prepared
from crossmodal.data.split import label_names
from crossmodal.errors import CrossmodalError
from crossmodal.integrations.mteb.models import Encoder, SearchModel
from crossmodal.integrations.mteb.tasks import PreparedRetrieval, Relevance, Unit, retrieval_tasks
from crossmodal.models.model import Model


def tasks_of(name: str, model: Model, split: str = "test", language: str = "en") -> list[AbsTask]:
    """Return the tasks of a name: of mteb, or of a prepared dataset.

    For a dataset, relevance is that of the model's run: the own item or, for a method that learns
    from categories, items of the same category or with a label in common.

    Args:
        name: Name of one of mteb's tasks, a key of `datasets`, or the folder of a prepared dataset.
        model: The model to evaluate.
        split: Split of a prepared dataset.
        language: Of a prepared dataset, by BCP 47.

    Raises:
        CrossmodalError: If there is no such task and no such dataset.
    """
    folder = PREPARED / name if is_prepared(name) else Path(name)
    if not (folder / "items.csv").exists():
        return [_task(name)]
    relevance: Relevance = "item"
    if model.method.task == "category" and label_names(Prepared(folder), model.facts["relevance"]):
        relevance = model.facts["relevance"]
    unit = _text_unit(model)
    first, second = model.modalities
    return [
        *retrieval_tasks(
            folder,
            (first, second),
            relevance=relevance,
            unit=unit,
            split=split,
            language=language,
        )
    ]


def check_task(task: AbsTask, model: Encoder | SearchModel) -> None:
    """Refuse a task that a model does not support, before a download.

    Raises:
        CrossmodalError: If the task has a modality that the model does not embed, or needs an
            encoder while the model has only a score of two items.
    """
    name, about = task.metadata.name, task.metadata.modalities
    modalities = model.mteb_model_meta.modalities
    if not {*about} <= {*modalities}:
        raise CrossmodalError(
            f"{name}: the task is about {' and '.join(about)}, the model embeds "
            f"{' and '.join(modalities)}; choose another task"
        )
    own = isinstance(task, PreparedRetrieval)
    if "audio" in about and not own and not importlib.util.find_spec("torchcodec"):
        raise CrossmodalError(f"{name}: mteb decodes sound with torchcodec: pip install torchcodec")
    if isinstance(model, SearchModel) and not isinstance(task, AbsTaskRetrieval):
        raise CrossmodalError(
            f"{name}: the model has a score function of its own, so that it can search but not "
            "encode; choose a retrieval task"
        )


def _task(name: str) -> AbsTask:
    try:
        return mteb.get_task(name)
    except KeyError as error:
        raise CrossmodalError(
            f"{name}: no prepared dataset (a key of `datasets` in {PREPARED}/, or a folder with "
            f"items.csv) and none of mteb's tasks: {error.args[0]}"
        ) from error


def _text_unit(model: Model) -> Unit:
    """Return the unit of the model's texts: a caption, or all captions of an item."""
    if "text" not in model.modalities:
        return "caption"
    made_by = model.features["text"]["extractor"]
    return plugins.make("features", made_by["plugin"], made_by["options"], "options").unit
