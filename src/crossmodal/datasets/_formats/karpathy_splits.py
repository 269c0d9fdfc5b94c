"""Karpathy and Li's files `dataset_*.json`: images with sentences and splits."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.item_records import Record
from crossmodal.datasets._formats.named_files import NamedFiles
from crossmodal.io.files import JsonObject
from crossmodal.io.spreadsheets import Findings, RowError

KIND = "Karpathy's splits"


def is_karpathy(content: JsonObject) -> bool:
    """Return whether JSON has images with sentences."""
    images = content.get("images")
    first = images[0] if isinstance(images, list) and images else None
    return isinstance(first, dict) and {"filename", "sentences"} <= {*first}


def karpathy_records(
    table: Path, content: JsonObject, pictures: NamedFiles, bad: Findings
) -> Iterator[Record]:
    """Yield a record of each image; those of `restval` are for training."""
    for number, image in enumerate(content["images"], 1):
        with bad.collect():
            try:
                name, texts = image["filename"], image["sentences"]
                name = f"{image['filepath']}/{name}" if image.get("filepath") else name
            except (LookupError, TypeError, AttributeError) as error:
                reason = f": image has no filename or sentences: {str(image)[:80]}"
                raise RowError(table, number, reason) from error
            picture, split = pictures.find(table, number, name), image.get("split")
            yield Record(table, number, {"image": picture, "text": texts, "split": split})
