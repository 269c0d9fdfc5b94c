"""MIRFLICKR-25000: photographs with the tags of their owners, annotations, counts of tags."""

import io

import numpy as np
import scipy.sparse

from tests.datasets.layouts import pack, photograph, small

POTENTIAL = [
    "animals",
    "baby",
    "bird",
    "car",
    "clouds",
    "dog",
    "female",
    "flower",
    "food",
    "indoor",
    "lake",
    "male",
    "night",
    "people",
    "plant_life",
    "portrait",
    "river",
    "sea",
    "sky",
    "structures",
    "sunset",
    "transport",
    "tree",
    "water",
]
RELEVANT = [
    "baby",
    "bird",
    "car",
    "clouds",
    "dog",
    "female",
    "flower",
    "male",
    "night",
    "people",
    "portrait",
    "river",
    "sea",
    "tree",
]
FILES = ("mirflickr25k.zip", "mirflickr25k_annotations_v080.zip", "flickr_data.tar.gz")
PHOTOGRAPHS, TRAIN, WORDS = 150, 100, 60
# without tags, without a label, and with neither; the second have tags that were not counted
UNTAGGED, UNCOUNTED, UNLABELLED = (2, 101), (3, 102), (5, 101, 103)
LEFT_OUT = {*UNTAGGED, *UNCOUNTED, *UNLABELLED}
CONSTANTS = {
    "PHOTOGRAPHS": PHOTOGRAPHS,
    "TRAIN_PHOTOGRAPHS": TRAIN,
    "MirFlickr.parts": {
        "train": TRAIN - sum(n <= TRAIN for n in LEFT_OUT),
        "test": PHOTOGRAPHS - TRAIN - sum(n > TRAIN for n in LEFT_OUT),
    },
}
SMALL = small("mirflickr", **CONSTANTS)
DATASETS = {"mirflickr": {"validation": 20, "seed": 0, "sizes": None}}
TABLE = {
    "dataset": "mirflickr",
    "views": {"image": "colour", "text": "tags"},
    "relevance": "labels",
    "method": "cca",
}


def make(folder, rng):
    """Photograph n shows a main thing, which is labelled as relevant too, and another."""
    main = rng.integers(0, len(POTENTIAL), PHOTOGRAPHS + 1)
    other = rng.integers(0, len(POTENTIAL), PHOTOGRAPHS + 1)
    numbers = range(1, PHOTOGRAPHS + 1)
    pack(folder / FILES[1], _annotations(numbers, main, other))
    counts = np.zeros((PHOTOGRAPHS, WORDS), int)
    members = {"mirflickr/doc/common_tags.txt": "explore 1483\n"}
    for n in numbers:
        words = np.unique([2 * main[n], 2 * main[n] + 1, 2 * other[n], 48 + rng.integers(0, 12)])
        if n not in {*UNTAGGED, *UNCOUNTED}:
            counts[n - 1, words] = 1
        lines = [] if n in UNTAGGED else [f"tag{w}" for w in words] + ["2008", "café"]
        members[f"mirflickr/im{n}.jpg"] = photograph(main[n], len(POTENTIAL), rng)
        members[f"mirflickr/meta/tags/tags{n}.txt"] = "".join(f"{line}\r\n" for line in lines)
        members[f"mirflickr/meta/tags_raw/tags{n}.txt"] = "Raw Tag\n"
    pack(folder / FILES[0], members)
    pack(folder / FILES[2], _flickr_data(counts))


def _annotations(numbers, main, other):
    labels = {name: [] for name in POTENTIAL} | {f"{name}_r1": [] for name in RELEVANT}
    for n in numbers:
        if n not in UNLABELLED:
            name = POTENTIAL[main[n]]
            for label in {name, POTENTIAL[other[n]], f"{name}_r1"} & labels.keys():
                labels[label].append(n)
    files = {f"{name}.txt": "".join(f"{n}\r\n" for n in found) for name, found in labels.items()}
    return {"README.txt": "MIRFLICKR annotations v080, 25000 images\n", **files}


def stored(counts):
    """A sparse matrix as Srivastava and Salakhutdinov store it."""
    matrix = scipy.sparse.csr_matrix(counts, dtype=np.float32)
    arrays = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    stream = io.BytesIO()
    np.savez(stream, shape=matrix.shape, **arrays)
    return stream.getvalue()


def _flickr_data(counts):
    labels = io.BytesIO()
    np.save(labels, np.zeros((len(counts), 38)))
    vocabulary = "".join(f"{w} tag{w} 100\n" for w in range(WORDS))
    return {
        "flickr/labels.npy": labels.getvalue(),
        "flickr/text/text_all_2000_labelled.npz": stored(counts),
        "flickr/text/vocab.txt": vocabulary,
    }
