"""MSCOCO: Karpathy's split files in a zip, the photographs in two."""

import json

from tests.datasets.layouts import pack, photograph, sentences, small

CONSTANTS = {"COUNTS": {"train": 90, "validation": 30, "test": 30}}
SMALL = small("coco", **CONSTANTS)
DATASETS = {"coco": {}}
TABLE = {
    "dataset": "coco",
    "views": {"image": "colour", "text": "bow_caption"},
    "relevance": "category",
    "method": "sh",
}
# more validation and test images than are used, and images that are not used at all
LISTED = {"train": 90, "val": 33, "test": 32, "restval": 4}
FOLDERS = {"train": "train2014", "restval": "val2014", "val": "val2014", "test": "val2014"}


def make(folder, rng):
    """Write the archives; some images have six or seven captions, each with a line end."""
    splits = [split for split, count in LISTED.items() for _ in range(count)]
    entries, images = [], {"train2014": {}, "val2014": {}}
    for number, split in enumerate(rng.permutation(splits)):
        part, cocoid = FOLDERS[split], 9 + 613 * number
        file = f"COCO_{part}_{cocoid:012d}.jpg"
        images[part][file] = photograph(number % 10, 10, rng)
        texts = [f"{text} \n" for text in sentences(number % 10, 5 + number % 3, rng)]
        entries.append(entry(number, part, file, str(split), texts, cocoid))
    write_splits(folder, entries)
    for part, files in images.items():
        write_images(folder, part, files)


def entry(number, part, file, split, texts, cocoid):
    """One image of the split file."""
    ids = range(7 * number, 7 * number + len(texts))
    return {
        "filepath": part,
        "sentids": [*ids],
        "filename": file,
        "imgid": number,
        "split": split,
        "sentences": [
            {"tokens": text.lower().split(), "raw": text, "imgid": number, "sentid": id}
            for id, text in zip(ids, texts, strict=True)
        ],
        "cocoid": cocoid,
    }


def write_splits(folder, entries):
    """The archive of all of Karpathy's split files."""
    members = {f"dataset_{name}.json": '{"images": []}' for name in ("flickr30k", "flickr8k")}
    members["dataset_coco.json"] = json.dumps({"images": entries, "dataset": "coco"})
    pack(folder / "caption_datasets.zip", members)


def write_images(folder, part, files):
    """One archive of photographs."""
    pack(folder / f"{part}.zip", {f"{part}/{name}": content for name, content in files.items()})
