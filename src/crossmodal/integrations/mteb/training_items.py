"""Items of a task that a model was trained on, so that its numbers there are too good."""

import zipfile
from pathlib import Path

from mteb.abstasks import AbsTask

from crossmodal.data.prepared import PREPARED, Item, Prepared, is_prepared
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
    sources = [Prepared(PREPARED / name) for name in names if is_prepared(name)]
    seen = {content for data in sources for content in contents(data, data.split("train"))}
    tested = contents(task.prepared, task.items)
    count = sum(content in seen for content in tested)
    return f"{count:,} of its {len(tested):,} items" if count else ""


def contents(data: Prepared, items: list[Item]) -> list[object]:
    """Return what tells items apart: checksum and size of the picture, or else the captions."""
    with zipfile.ZipFile(Path(data.folder, "media.zip")) as archive:
        media = {member.filename: (member.CRC, member.file_size) for member in archive.infolist()}
    captions = data.captions_of
    return [
        media.get(item.image) or frozenset(c.text or media[c.audio] for c in captions[item.id])
        for item in items
    ]
