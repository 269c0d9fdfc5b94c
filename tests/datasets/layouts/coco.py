"""MSCOCO in small: Karpathy's split files in a zip, the photographs in two."""

import json
import zipfile

from crossmodal.rendering.grammar import captions
from crossmodal.rendering.image import draw, jpeg
from crossmodal.rendering.scene import CATEGORIES, random_scene

OPTIONS = {}
SIZES = {"train": 60, "validation": 20, "test": 20}
FOLDERS = {"train": "train2014", "restval": "val2014", "val": "val2014", "test": "val2014"}


def make(folder, rng, sizes=SIZES):
    """Write the archives; there are more validation and test images than are used, and others."""
    sizes = {"train": sizes["train"], "val": sizes["validation"] + 3, "test": sizes["test"] + 2}
    splits = [split for split, size in (sizes | {"restval": 4}).items() for _ in range(size)]
    entries, images = [], {"train2014": {}, "val2014": {}}
    for number, split in enumerate(rng.permutation(splits)):
        scene = random_scene(CATEGORIES[number % len(CATEGORIES)], rng)
        part, cocoid = FOLDERS[split], 9 + 613 * number
        file = f"COCO_{part}_{cocoid:012d}.jpg"
        images[part][file] = jpeg(draw(scene, 32, rng))
        # some images have six or seven captions, and some captions end in a new line
        texts = [f"{text}\n" for text in captions(scene, 5 + number % 3, rng)]
        entries.append(entry(number, part, file, str(split), texts, cocoid))
    write_splits(folder, entries)
    for part, files in images.items():
        write_images(folder, part, files)


def entry(number, part, file, split, texts, cocoid):
    """One image of the split file."""
    ids = [7 * number + k for k in range(len(texts))]
    sentences = [
        {"tokens": text.lower().split(), "raw": text, "imgid": number, "sentid": id}
        for id, text in zip(ids, texts, strict=True)
    ]
    return {
        "filepath": part,
        "sentids": ids,
        "filename": file,
        "imgid": number,
        "split": split,
        "sentences": sentences,
        "cocoid": cocoid,
    }


def write_splits(folder, entries):
    """The archive of all of Karpathy's split files."""
    with zipfile.ZipFile(folder / "caption_datasets.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        content = json.dumps({"images": entries, "dataset": "coco"})
        archive.writestr("dataset_coco.json", content)
        for name in ("flickr30k", "flickr8k"):
            archive.writestr(f"dataset_{name}.json", json.dumps({"images": [], "dataset": name}))


def write_images(folder, part, files):
    """One archive of photographs."""
    with zipfile.ZipFile(folder / f"{part}.zip", "w") as archive:
        archive.mkdir(part)
        for name, content in files.items():
            archive.writestr(f"{part}/{name}", content)
