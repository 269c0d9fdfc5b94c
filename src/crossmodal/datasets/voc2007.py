"""PASCAL VOC 2007 (Everingham et al. 2010) with the tags of Hwang and Grauman (2010).

9,963 photographs and 20 classes, one or more per photograph. The tags were collected from crowd
workers; the release numbers its 399 words without spelling them, so texts are counts alone: the
published feature `tags`. As in CMOLRS, the official training and test parts are used,
and photographs without tags left out.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from crossmodal.data.dataset import Source
from crossmodal.data.writer import Writer
from crossmodal.datasets._two_parts import TwoParts
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.matlab import read_matlab
from crossmodal.io.progress import track

HOSTS = (
    "http://host.robots.ox.ac.uk/pascal/VOC/voc2007",
    "https://thor.robots.ox.ac.uk/pascal/VOC/voc2007",
)
HELP = "Get it from http://host.robots.ox.ac.uk/pascal/VOC/voc2007/."
TAGS_HELP = (
    "Ask for the PASCAL VOC 2007 data of S. J. Hwang and K. Grauman, "
    "http://vision.cs.utexas.edu/projects/tag/bmvc10.html: two Matlab files with structures D1 and "
    "D2, fields filename, taglist and objectcount; name them train.mat (5,011 photographs) and "
    "test.mat (4,952)."
)
# photographs and classes, image sets, tags
PARTS = {
    "train": ("VOCtrainval_06-Nov-2007.tar", "trainval", "train.mat"),
    "test": ("VOCtest_06-Nov-2007.tar", "test", "test.mat"),
}
WORDS = 399
CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)


def _archive(file: str, sha256: str, size: int) -> Source:
    return Source(file, tuple(f"{host}/{file}" for host in HOSTS), sha256, size, HELP)


class Voc2007(TwoParts):
    """The official parts, multi-label, with the counts of 399 tags."""

    parts: ClassVar = {"train": 5000, "test": 4919}
    basis = "CMOLRS prints these numbers, but that they are the photographs with tags is inferred"
    licence = "research; the photographs belong to Flickr users"
    citation = (
        "M. Everingham et al., The PASCAL visual object classes challenge, IJCV 88, 2010; "
        "S. J. Hwang, K. Grauman, Accounting for the relative importance of objects in image "
        "retrieval, BMVC 2010"
    )
    sources = (
        _archive(
            "VOCtrainval_06-Nov-2007.tar",
            "7d8cd951101b0957ddfd7a530bdc8a94f06121cfc1e511bb5937e973020c7508",
            460032000,
        ),
        _archive(
            "VOCtest_06-Nov-2007.tar",
            "6836888e2e01dca84577a849d339fa4f73e1e4f135d312430c4856b5609b4892",
            451020800,
        ),
        Source("train.mat", help=TAGS_HELP),
        Source("test.mat", help=TAGS_HELP),
    )

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read photographs, classes and tags; see `Dataset.prepare`."""
        rows = []
        tagged = {
            part: [(file, row) for file, row in _read_tags(raw / tags) if row.any()]
            for part, (_, _, tags) in PARTS.items()
        }
        parts = [part for part, photographs in tagged.items() for _ in photographs]
        self.sizes.check(parts, "train", out.folder)
        for part, (archive, image_set, tags) in PARTS.items():
            size = len(tagged[part])
            with Archive(raw / archive) as opened:
                labels = _read_labels(opened, image_set)
                for index, (file, row) in enumerate(track(tagged[part], size, f"voc2007 {part}")):
                    id = Path(file).stem
                    if id not in labels:
                        raise CrossmodalError(f"{raw / tags}: {file!r} is not in {archive}")
                    split = self.held_out.split(part, index)
                    image = opened.read(f"VOCdevkit/VOC2007/JPEGImages/{id}.jpg")
                    out.item(id, split, labels=labels[id], image=image, suffix=".jpg")
                    rows.append(row)
        out.published("tags", np.stack(rows))


def _read_labels(archive: Archive, image_set: str) -> dict[str, tuple[str, ...]]:
    """Return classes of each photograph, difficult ones (0) included."""
    labels: dict[str, list[str]] = defaultdict(list)
    for name in CLASSES:
        file = f"ImageSets/Main/{name}_{image_set}.txt"
        for number, line in enumerate(archive.text(file).splitlines(), 1):
            match line.split():
                case [id, "0" | "1"]:
                    labels[id].append(name)
                case [_, "-1"]:
                    pass
                case _:
                    raise CrossmodalError(
                        f"{archive.path}: {file}: line {number}: {line!r} is not <photograph>, "
                        "<-1, 0 or 1>; get the archive again"
                    )
    return {id: tuple(names) for id, names in labels.items()}


def _read_tags(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield file name and counts (399,) uint8 of each photograph."""
    variables = read_matlab(path, ["D1", "D2"])
    for name in ("D1", "D2"):
        for entry in np.atleast_1d(variables[name]):
            yield _count_tags(entry, f"{path}: {name}")


def _count_tags(entry: Any, where: str) -> tuple[str, np.ndarray]:
    try:
        file, tags = str(entry["filename"]), np.atleast_1d(entry["taglist"]).astype(int)
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise CrossmodalError(f"{where}: no field {error}; get the file again") from error
    if tags.size and not 1 <= tags.min() <= tags.max() <= WORDS:
        raise CrossmodalError(f"{where}: {file!r} has a tag that is not in 1..{WORDS}")
    return file, np.bincount(tags - 1, minlength=WORDS).astype(np.uint8)
