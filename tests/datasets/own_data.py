"""A folder of a user's own data in the working folder, and its preparation."""

import csv
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image

from crossmodal.data.prepared import Prepared
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec

OPTIONS = {"csv": "mine/items.csv", "validation": 0.2, "test": 0.1, "seed": 0}
OPTIONS |= {"duplicates": "refuse"}
HEADER = ["id", "image", "text", "speech", "labels", "split"]
ROWS = [
    ["dog", "photos/dog.png", "A dog runs, fast.", "speech/dog.flac", "animal; grass", "train"],
    ["dog", "", "The brown dog.", "", "", ""],
    ["sea", "photos/sea.png", "The sea", "speech/sea.flac", "", "validation"],
    ["cat", "photos/cat.png", "A cat", "speech/cat.flac", "animal", "test"],
]


def make_folder():
    """Three items with pictures and recordings."""
    for name in ("photos", "speech"):
        Path("mine", name).mkdir(parents=True)
    for number, name in enumerate(("dog", "sea", "cat")):
        picture(number).save(f"mine/photos/{name}.png")
        soundfile.write(f"mine/speech/{name}.flac", np.full(100, number / 10), 16_000)
    write(ROWS)
    return Path("mine").resolve()


def picture(seed):
    """A picture of 16 x 16 cells of noise."""
    cells = np.random.default_rng(seed).integers(256, size=(16, 16, 3), dtype=np.uint8)
    return Image.fromarray(cells).resize((64, 48), Image.NEAREST)


def write(rows, header=HEADER):
    with open("mine/items.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def many(count, captions=1):
    for number in range(count):
        picture(number).save(f"mine/photos/{number}.png")
    rows = [
        [f"item{number}", f"photos/{number}.png", f"text {number} {caption}"]
        for caption in range(captions)
        for number in range(count)
    ]
    write(rows, ["id", "image", "text"])


def run(**options):
    prepare(
        PrepareSpec(plugin="folder", options=OPTIONS | options), Path("unread"), Path("prepared")
    )
    return Prepared("prepared")
