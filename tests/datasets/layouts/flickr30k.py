"""Flickr30k in small: Karpathy's split files in a zip, the photographs in a tar.gz."""

import io
import json
import tarfile
import zipfile

from crossmodal.rendering.grammar import captions
from crossmodal.rendering.image import draw, jpeg
from crossmodal.rendering.scene import CATEGORIES, random_scene

OPTIONS = {}
SIZES = {"train": 60, "validation": 20, "test": 20}
KARPATHY = {"train": "train", "validation": "val", "test": "test"}
# as people wrote them; in the file some letters are escaped
ODD = [
    "  A café 's dog —  it 's 3 ' tall . ",
    'The "old" man,\nhis dog &amp; the sea',
    "\u201cMöwen\u201d.",
]


def make(folder, rng, sizes=SIZES):
    """Write both archives; the images of the three splits are mixed, and some are in none."""
    splits = [split for split, size in sizes.items() for _ in range(size)]
    entries, images = [], {}
    for number, split in enumerate(rng.permutation([*splits, *2 * ["none"]])):
        scene = random_scene(CATEGORIES[number % len(CATEGORIES)], rng)
        file = f"{1000000000 + 7919 * number}.jpg"
        images[file] = jpeg(draw(scene, 32, rng))
        texts = captions(scene, 5, rng)
        if split != "none":
            if len(entries) < len(ODD):
                texts[4] = ODD[len(entries)]
            entries.append(entry(number, file, KARPATHY[split], texts))
    write_splits(folder, entries)
    write_images(folder, images)


def entry(number, file, split, texts):
    """One image of the split file."""
    ids = [5 * number + k for k in range(len(texts))]
    sentences = [
        {"tokens": text.lower().split(), "raw": text, "imgid": number, "sentid": id}
        for id, text in zip(ids, texts, strict=True)
    ]
    return {
        "sentids": ids,
        "imgid": number,
        "sentences": sentences,
        "split": split,
        "filename": file,
    }


def write_splits(folder, entries):
    """The archive of all of Karpathy's split files."""
    with zipfile.ZipFile(folder / "caption_datasets.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("coco", "flickr8k"):
            archive.writestr(f"dataset_{name}.json", json.dumps({"images": [], "dataset": name}))
        content = json.dumps({"images": entries, "dataset": "flickr30k"})
        archive.writestr("dataset_flickr30k.json", content)


def write_images(folder, images):
    """The archive of the photographs."""
    with tarfile.open(folder / "flickr30k-images.tar.gz", "w:gz") as archive:
        for name, content in {"._a.jpg": b"\0\5", **images}.items():
            info = tarfile.TarInfo(f"flickr30k-images/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
