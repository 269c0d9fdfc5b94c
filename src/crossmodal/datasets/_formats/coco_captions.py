"""MS COCO's captions: JSON with images, and annotations that caption them."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.item_records import Record, split_in
from crossmodal.datasets._formats.named_files import NamedFiles
from crossmodal.io.files import JsonObject
from crossmodal.io.spreadsheets import Findings, RowError

KIND = "COCO captions"


def is_coco(content: JsonObject) -> bool:
    """Return whether JSON has images and captions of them."""
    images, notes = content.get("images"), content.get("annotations")
    if not isinstance(images, list) or not isinstance(notes, list):
        return False
    return any(isinstance(note, dict) and "caption" in note for note in notes)


def coco_records(
    table: Path, content: JsonObject, pictures: NamedFiles, bad: Findings
) -> Iterator[Record]:
    """Yield a record of each image, with all of its captions; the file's name says the split."""
    captions: dict[object, list[object]] = {}
    first: dict[object, int] = {}  # annotation of each image
    for number, note in enumerate(content["annotations"], 1):
        with bad.collect():
            try:
                image, caption = note["image_id"], note["caption"]
                captions.setdefault(image, []).append(caption)
                first.setdefault(image, number)
            except (LookupError, TypeError) as error:
                reason = f": annotation has no image_id or caption: {str(note)[:80]}"
                raise RowError(table, number, reason) from error
    split = split_in(Path(table.name))
    for number, image in enumerate(content["images"], 1):
        with bad.collect():
            try:
                name, texts = image["file_name"], captions.pop(image["id"], [])
            except (LookupError, TypeError) as error:
                reason = f": image has no id or file_name: {str(image)[:80]}"
                raise RowError(table, number, reason) from error
            image = pictures.find(table, number, name)
            yield Record(table, number, {"image": image, "text": texts, "split": split})
    for image in captions:
        reason = f": annotation captions image {image!r}, which `images` does not have"
        bad.errors.append(RowError(table, first[image], reason))
