"""PASCAL VOC 2007: two archives, and the tags of Hwang and Grauman."""

import numpy as np
import scipy.io

from crossmodal.datasets.voc2007 import CLASSES, WORDS
from tests.datasets.layouts import pack, photograph, small

CONSTANTS = {"Voc2007.parts": {"train": 90, "test": 40}}
SMALL = small("voc2007", **CONSTANTS)
DATASETS = {"voc2007": {"validation": 20, "seed": 0, "sizes": None}}
TABLE = {
    "dataset": "voc2007",
    "views": {"image": "colour", "text": "tags"},
    "relevance": "labels",
    "method": "cca",
}
UNTAGGED = 3  # more photographs of each part
FIELDS = [(name, object) for name in ("filename", "taglist", "objectcount", "gist")]
PARTS = {
    "train": ("VOCtrainval_06-Nov-2007.tar", "trainval", "train.mat"),
    "test": ("VOCtest_06-Nov-2007.tar", "test", "test.mat"),
}


def make(folder, rng):
    """Every photograph has one or two classes; its tags are drawn from those of its classes."""
    for number, (part, (archive, image_set, tags)) in enumerate(PARTS.items()):
        count = CONSTANTS["Voc2007.parts"][part] + UNTAGGED
        ids = [f"{number + 2 * row + 5:06d}" for row in range(count)]  # the other part's between
        main = np.arange(count) % len(CLASSES)
        second = np.where(rng.random(count) < 0.5, rng.integers(0, len(CLASSES), count), main)
        pack(folder / archive, _devkit(ids, main, second, image_set, rng))
        structure = _structure(ids, main, second, rng)
        half = count // 2
        scipy.io.savemat(folder / tags, {"D1": structure[:, :half], "D2": structure[:, half:]})


def _devkit(ids, main, second, image_set, rng):
    members = {f"VOCdevkit/VOC2007/ImageSets/Main/{image_set}.txt": "\n".join(ids) + "\n"}
    for c, name in enumerate(CLASSES):
        # 0 is what is hard to see; the numbers are aligned to the right
        marks = [1 if m == c else 0 if s == c else -1 for m, s in zip(main, second, strict=True)]
        lines = [f"{id} {mark:2d}" for id, mark in zip(ids, marks, strict=True)]
        path = f"VOCdevkit/VOC2007/ImageSets/Main/{name}_{image_set}.txt"
        members[path] = "\n".join(lines) + "\n"
    members[f"VOCdevkit/VOC2007/ImageSets/Segmentation/{image_set}.txt"] = "\n".join(ids[:9])
    for id, c in zip(ids, main, strict=True):
        members[f"VOCdevkit/VOC2007/JPEGImages/{id}.jpg"] = photograph(c, len(CLASSES), rng)
        members[f"VOCdevkit/VOC2007/Annotations/{id}.xml"] = "<annotation></annotation>"
    return members


def _structure(ids, main, second, rng):
    structure = np.empty((1, len(ids)), FIELDS)
    for row, id in enumerate(ids):
        words = np.concatenate([[1 + 9 * main[row]], rng.integers(1, 9, 4) + 9 * second[row]])
        words = np.append(words, WORDS) if row == 0 else words
        # the last have no tags; one tag is a matrix like any other
        empty = row >= len(ids) - UNTAGGED
        tags = np.zeros((0, 0)) if empty else words[None, : 1 if row == 1 else None].astype(float)
        counts = np.zeros((1, len(CLASSES)))
        counts[0, [main[row], second[row]]] = 1
        structure[0, row] = (f"{id}.jpg", tags, counts, rng.random((1, 8)))
    return structure
