"""Flickr30k: Karpathy's split files in a zip, the photographs in a tar.gz."""

import json

from tests.datasets.layouts import pack, photograph, sentences, small

CONSTANTS = {"COUNTS": {"train": 90, "validation": 30, "test": 30}}
SMALL = small("flickr30k", **CONSTANTS)
DATASETS = {"flickr30k": {}}
TABLE = {
    "dataset": "flickr30k",
    "views": {"image": "colour", "text": "bow_caption"},
    "relevance": "category",
    "method": "ridge",
}
NAMES = {"train": "train", "validation": "val", "test": "test"}
# with letters that the file escapes, and blanks that people left
ODD = ["  A café 's dog —  it 's 3 ' tall . ", 'The "old" man,\nhis dog &amp; the sea', "“Möwen”."]


def make(folder, rng):
    """Write both archives; the images of the splits are mixed, and some are in none."""
    splits = [split for split, count in CONSTANTS["COUNTS"].items() for _ in range(count)]
    entries, images = [], {"._a.jpg": b"\0\5"}
    for number, split in enumerate(rng.permutation([*splits, "none", "none"])):
        file = f"{1000000000 + 7919 * number}.jpg"
        images[file] = photograph(number % 10, 10, rng)
        if split != "none":
            texts = sentences(number % 10, 5, rng)
            if len(entries) < len(ODD):
                texts[4] = ODD[len(entries)]
            entries.append(entry(number, file, NAMES[split], texts))
    write_splits(folder, entries)
    write_images(folder, images)


def entry(number, file, split, texts):
    """One image of the split file."""
    ids = range(5 * number, 5 * number + len(texts))
    return {
        "sentids": [*ids],
        "imgid": number,
        "sentences": [
            {"tokens": text.lower().split(), "raw": text, "imgid": number, "sentid": id}
            for id, text in zip(ids, texts, strict=True)
        ],
        "split": split,
        "filename": file,
    }


def write_splits(folder, entries):
    """The archive of all of Karpathy's split files."""
    members = {f"dataset_{name}.json": '{"images": []}' for name in ("coco", "flickr8k")}
    members["dataset_flickr30k.json"] = json.dumps({"images": entries, "dataset": "flickr30k"})
    pack(folder / "caption_datasets.zip", members)


def write_images(folder, images):
    """The archive of the photographs."""
    members = {f"flickr30k-images/{name}": content for name, content in images.items()}
    pack(folder / "flickr30k-images.tar.gz", members)
