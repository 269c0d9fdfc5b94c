"""MIRFLICKR-25000 (Huiskes and Lew 2008): photographs with the tags of their owners, 38 labels.

The labels are 24 potential and 14 relevant ones ("bird", and "bird_r1" if it is what the photograph
is about). The texts of CMOLRS are the counts of 2,000 tags (Srivastava and
Salakhutdinov 2012): the published feature `tags`. Photographs without any of them, or without a
label, are left out.
"""

import io
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np
import scipy.sparse

from crossmodal.data.dataset import Source
from crossmodal.data.writer import Writer
from crossmodal.datasets._two_parts import TwoParts
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.progress import track

HOSTS = (
    "http://press.liacs.nl/mirflickr/mirflickr25k.v3b",
    "https://press.liacs.nl/mirflickr/mirflickr25k.v3b",
)
IMAGES, LABELS = "mirflickr25k.zip", "mirflickr25k_annotations_v080.zip"
TAGS = "flickr_data.tar.gz"
PHOTOGRAPHS, TRAIN_PHOTOGRAPHS = 25_000, 15_000


class MirFlickr(TwoParts):
    """Photographs 1 to 15,000 train, the others test; multi-label."""

    parts: ClassVar = {"train": 12144, "test": 7958}
    basis = "CMOLRS prints these numbers, but which photographs they are is inferred"
    licence = "photographs: Creative Commons, each its own; annotations: research"
    citation = (
        "M. J. Huiskes, M. S. Lew, The MIR Flickr retrieval evaluation, MIR 2008; "
        "N. Srivastava, R. Salakhutdinov, Multimodal learning with deep Boltzmann machines, 2012"
    )
    sources = (
        *(
            Source(
                file,
                tuple(f"{host}/{file}" for host in HOSTS),
                help="Get it from https://press.liacs.nl/mirflickr/mirdownload.html.",
            )
            for file in (IMAGES, LABELS)
        ),
        Source(
            TAGS,
            (f"http://www.cs.toronto.edu/~nitish/multimodal/{TAGS}",),
            help="Get it from http://www.cs.toronto.edu/~nitish/multimodal/.",
        ),
    )

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read photographs, labels and tags; see `Dataset.prepare`."""
        tags, labels = _read_tags(raw / TAGS), _read_labels(raw / LABELS)
        tagged = np.diff(tags.indptr) > 0
        numbers = [n for n in range(1, PHOTOGRAPHS + 1) if tagged[n - 1] and n in labels]
        parts = ["train" if number <= TRAIN_PHOTOGRAPHS else "test" for number in numbers]
        self.sizes.check(parts, "train", out.folder)
        with Archive(raw / IMAGES) as images:
            root = images.locate("im1.jpg").removesuffix("im1.jpg")
            for index, number in enumerate(track(numbers, len(numbers), "prepare mirflickr")):
                id = f"im{number}"
                split = self.held_out.split(parts[index], index)
                image = images.read(f"{root}{id}.jpg")
                out.item(id, split, labels=labels[number], image=image, suffix=".jpg")
                text = _read_text(images, f"{root}meta/tags/tags{number}.txt")
                out.caption(f"{id}#0", id, text)
        out.published("tags", tags[np.array(numbers) - 1].toarray().astype(np.uint8))


def _read_text(images: Archive, member: str) -> str:
    """Return all tags of a photograph, one per line in the file; a few are not valid UTF-8."""
    text = " ".join(images.read(member).decode("utf-8", "replace").split())
    if not text:
        raise CrossmodalError(
            f"{images.path}: {member}: has no tags, but {TAGS} counts some; get both again"
        )
    return text


def _read_labels(path: Path) -> dict[int, tuple[str, ...]]:
    """Return labels of each photograph that has any, by its number."""
    labels: dict[int, list[str]] = defaultdict(list)
    with Archive(path) as archive:
        for member in sorted(archive.names):
            name = PurePosixPath(member)
            if name.suffix == ".txt" and name.stem != "README":
                for line, number in enumerate(archive.text(member).split(), 1):
                    if not (number.isdigit() and 1 <= int(number) <= PHOTOGRAPHS):
                        raise CrossmodalError(
                            f"{path}: {member}: line {line}: {number!r} is not in "
                            f"1..{PHOTOGRAPHS}; get the archive again"
                        )
                    labels[int(number)].append(name.stem)
    return {number: tuple(names) for number, names in labels.items()}


def _read_tags(path: Path) -> scipy.sparse.csr_matrix:
    """Return counts of each tag of each photograph, (photographs, tags)."""
    with Archive(path) as archive:
        member = archive.locate("text_all_2000_labelled.npz")
        content = archive.read(member)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = tuple(stored[name] for name in ("data", "indices", "indptr"))
            matrix = scipy.sparse.csr_matrix(arrays, shape=tuple(stored["shape"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CrossmodalError(f"{path}: {member}: {error}; get the archive again") from error
    if matrix.shape[0] != PHOTOGRAPHS:
        raise CrossmodalError(f"{path}: {member}: {matrix.shape[0]} rows, not {PHOTOGRAPHS}")
    return matrix
