"""The split files of Karpathy and Li (2015): images, their captions and splits as JSON."""

import json
from dataclasses import dataclass
from pathlib import Path

from crossmodal.data.dataset import Source
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.files import JsonObject
from crossmodal.io.progress import track

ARCHIVE = "caption_datasets.zip"
SOURCE = Source(
    ARCHIVE,
    (
        f"https://cs.stanford.edu/people/karpathy/deepimagesent/{ARCHIVE}",
        f"https://huggingface.co/datasets/gpantaz/karpathy_split/resolve/main/{ARCHIVE}",
    ),
    sha256="4cfd70132527b80933105e5829dc9034eaab9573482e2e680abbab6130244817",
    bytes=36_745_453,
    help=f"Get {ARCHIVE} from https://cs.stanford.edu/people/karpathy/deepimagesent.",
)
CITATION = "A. Karpathy, L. Fei-Fei, Deep visual-semantic alignments, CVPR 2015"
SPLITS = {"train": "train", "val": "validation", "test": "test"}
CAPTIONS_PER_IMAGE = 5


@dataclass(frozen=True)
class Image:
    """One image of a split file.

    Args:
        file: Its path in the images' archives, or its name alone.
        split: 'train', 'validation' or 'test'.
        captions: Its first five captions, as they were written.
    """

    file: str
    split: str
    captions: tuple[str, ...]


def read_images(raw: Path, name: str) -> list[Image]:
    """Return the images of the three splits, in the file's order, without those of `restval`.

    Args:
        raw: Folder that holds ARCHIVE.
        name: JSON file in it.

    Raises:
        CrossmodalError: If the file is not as published, or an image has fewer than five captions.
    """
    where = f"{raw / ARCHIVE}: {name}"
    try:
        entries = _entries(raw, name, "raw")
        return [_image(entry, where) for entry in entries if entry["split"] in SPLITS]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _other(raw, name, error) from error


def read_ids(raw: Path, name: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return the ids that `write` gives test images, and their captions, by those of COCO.

    Args:
        raw: Folder that holds ARCHIVE.
        name: JSON file in it.

    Raises:
        CrossmodalError: If the file is not as published.
    """
    images, captions = {}, {}
    try:
        for entry in _entries(raw, name, "sentid"):
            if entry["split"] == "test":
                item = images[int(entry["cocoid"])] = Path(entry["filename"]).stem
                for number, id in enumerate(entry["sentences"][:CAPTIONS_PER_IMAGE]):
                    captions[int(id)] = f"{item}#{number}"
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _other(raw, name, error) from error
    return images, captions


def _other(raw: Path, name: str, error: Exception) -> CrossmodalError:
    reason = f"not a split file ({type(error).__name__}: {error}); download it again"
    return CrossmodalError(f"{raw / ARCHIVE}: {name}: {reason}")


def _entries(raw: Path, name: str, part: str) -> list[JsonObject]:
    """Return the images; of sentences one part, for with their tokens COCO's take a gigabyte."""
    with Archive(raw / ARCHIVE) as archive:
        text = archive.text(name)
    images: list[JsonObject] = json.loads(text, object_hook=lambda v: v.get(part, v))["images"]
    return images


def _image(entry: JsonObject, where: str) -> Image:
    file = "/".join(filter(None, [entry.get("filepath"), entry["filename"]]))
    captions = tuple(" ".join(raw.split()) for raw in entry["sentences"][:CAPTIONS_PER_IMAGE])
    if len(captions) < CAPTIONS_PER_IMAGE:
        raise CrossmodalError(f"{where}: image {file!r} has {len(captions)} captions, need five")
    return Image(file, SPLITS[entry["split"]], captions)


def write(archive: Archive, images: dict[str, Image], out: Writer, as_listed: bool = False) -> None:
    """Write images with their captions.

    Args:
        archive: Holds the images.
        images: Image of each member.
        out: Gets one item, named like the file, and five captions for each image.
        as_listed: Write in the order of `images`; else in that of the archive, which is faster.

    Raises:
        CrossmodalError: If a member is missing or corrupt.
    """
    listed = ((member, archive.read(member)) for member in images)
    contents = listed if as_listed else archive.walk(images)
    for member, content in track(contents, len(images), f"prepare {archive.path.name}"):
        image, path = images[member], Path(member)
        out.item(path.stem, image.split, image=content, suffix=path.suffix)
        for number, text in enumerate(image.captions):
            out.caption(f"{path.stem}#{number}", path.stem, text)
