"""Items of a task that a model was trained on, so that its numbers there are too good."""

from mteb.abstasks import AbsTask

from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import PREPARED, Item, is_prepared
from crossmodal.integrations.mteb.models import Encoder, SearchModel
from crossmodal.integrations.mteb.tasks import PreparedRetrieval
from crossmodal.models.origins import datasets_of


def trained_on(task: AbsTask, model: Encoder | SearchModel) -> str:
    """Return what a task tests on that the model was trained on; empty if nothing is known to be.

    Of mteb's own tasks, datasets say which ones have their items; prepared datasets are compared.

    Args:
        task: The task.
        model: The model.
    """
    names, meta = sorted(datasets_of(model.model.facts)), model.mteb_model_meta
    if not isinstance(task, PreparedRetrieval):
        overlaps = meta is not None and meta.is_zero_shot_on([task]) is False
        return f"items of {' and '.join(names)}" if overlaps else ""
    sources = [PreparedMedia(PREPARED / name) for name in names if is_prepared(name)]
    seen = {content for data in sources for content in contents(data, data.split("train"))}
    tested = contents(task.prepared, task.items)
    count = sum(content in seen for content in tested)
    return f"{count:,} of its {len(tested):,} items" if count else ""


def contents(data: PreparedMedia, items: list[Item]) -> list[object]:
    """Return what tells items apart: checksum and size of the picture, or else the captions."""
    captions = data.captions_of
    return [
        data.stamp(item.image)
        if item.image
        else frozenset(c.text or data.stamp(c.audio) for c in captions[item.id])
        for item in items
    ]
