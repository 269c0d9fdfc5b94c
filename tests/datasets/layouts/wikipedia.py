"""Wikipedia: lists, and matrices of features."""

import numpy as np
import scipy.io

from tests.datasets.layouts import pack, photograph, sentences, small

CATEGORIES = [
    "art",
    "biology",
    "geography",
    "history",
    "literature",
    "media",
    "music",
    "royalty",
    "sport",
    "warfare",
]
COUNTS, SAM_VALIDATION = {"train": 150, "test": 60}, " ".join(map(str, range(0, 60, 3)))
CONSTANTS = {"COUNTS": COUNTS, "SAM_VALIDATION": SAM_VALIDATION}
SMALL = small("wikipedia", **CONSTANTS)
DATASETS = {
    "wikipedia": {"protocol": "cmolrs", "validation": 20, "seed": 0, "media": False},
    "wikipedia_462": {"protocol": "sam", "validation": 20, "seed": 0, "media": False},
    "wikipedia_media": {"protocol": "sam", "validation": 20, "seed": 0, "media": True},
    "wikipedia_strong": {"protocol": "cmolrs", "validation": 20, "seed": 0, "strong": True},
}
TABLE = {
    "dataset": "wikipedia_462",
    "views": {"image": "sift", "text": "lda"},
    "relevance": "category",
    "method": "sam",
}


def make(folder, rng):
    """Histograms and topics, rows that sum to one, lean to one side in each category."""
    (folder / "categories.list").write_text("\n".join([*CATEGORIES, "", ""]))
    leanings = {width: rng.random((len(CATEGORIES), width)) ** 4 for width in (128, 10)}
    matrices, members = {}, {"wikipedia_dataset/README.txt": "2866 documents"}
    stronger = {}
    for part, suffix in (("train", "tr"), ("test", "te")):
        numbers = rng.permutation(np.arange(COUNTS[part]) % len(CATEGORIES))
        lines = [f"text{suffix}{r}-2.1\timage{suffix}{r}\t{c + 1}" for r, c in enumerate(numbers)]
        (folder / f"{part}set_txt_img_cat.list").write_text("\n".join(lines) + "\n")
        for letter, width in (("I", 128), ("T", 10)):
            rows = leanings[width][numbers] + 0.1 * rng.random((len(numbers), width))
            matrices[f"{letter}_{suffix}"] = rows / rows.sum(1, keepdims=True)
            columns = {"I": 128, "T": 100}[letter]
            stronger[f"{letter}_{suffix}"] = rng.normal(
                numbers[:, None], 1, (len(numbers), columns)
            )
        for row, number in enumerate(numbers):
            members |= _document(f"{suffix}{row}", number, rng)
    pack(folder / "wikipedia_dataset.zip", members)
    scipy.io.savemat(folder / "raw_features.mat", matrices)
    scipy.io.savemat(folder / "cnn_wordvec.mat", stronger)


def _document(row, number, rng):
    """A photograph in the folder of its category; an article, which is not quite XML."""
    text = "\n".join(sentences(number, 3, rng))
    header = '<?xml version="1.0" encoding="UTF-8" ?>\n<article>\n<header>X</header>\n'
    return {
        f"wikipedia_dataset/images/{CATEGORIES[number]}/image{row}.jpg": photograph(
            number, len(CATEGORIES), rng
        ),
        f"wikipedia_dataset/texts/text{row}-2.1.xml": (
            f"{header}<text>\n{text} R&D &amp; Co <1900\n</text>\n</article>\n"
        ),
    }
