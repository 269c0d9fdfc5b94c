"""Flickr8k: photographs and texts in a zip each, recordings of the captions in a tar.gz."""

from tests.datasets.layouts import clip, pack, photograph, sentences, small

CONSTANTS = {"COUNTS": {"train": 90, "validation": 30, "test": 30}}
SMALL = small("flickr8k", **CONSTANTS)
DATASETS = {
    "flickr8k": {"speech": "none", "classes": False},
    "flickr8k_recorded": {"speech": "recorded", "classes": False},
}
TABLE = {
    "dataset": "flickr8k_recorded",
    "views": {"image": "colour", "text": "bow_caption"},
    "relevance": "category",
    "method": "ridge",
}
LISTS = {"train": "trainImages", "validation": "devImages", "test": "testImages"}
BOGUS = "2258277193_586949ec62.jpg.1"


def make(folder, rng):
    """Write the archives; two images are in no split, and one id names no image."""
    images, texts, lists = {}, {}, {split: [] for split in LISTS}
    splits = [split for split, count in CONSTANTS["COUNTS"].items() for _ in range(count)]
    for number, split in enumerate([*splits, "none", "none"]):
        file = f"{1000268201 + 7919 * number}_{number:010x}.jpg"
        images[file] = photograph(number % 10, 10, rng)
        texts |= {f"{file}#{k}": text for k, text in enumerate(sentences(number % 10, 5, rng))}
        lists.setdefault(split, []).append(file)
    del lists["none"]
    texts |= {f"{BOGUS}#{k}": "Two boys running ." for k in range(5)}
    members = {f"Flicker8k_Dataset/{file}": content for file, content in images.items()}
    members |= {f"__MACOSX/Flicker8k_Dataset/._{file}": b"\0\5" for file in images}
    pack(folder / "Flickr8k_Dataset.zip", members)
    write_texts(folder, texts, lists)
    listed = {file for files in lists.values() for file in files}
    write_recordings(folder, [name for name in texts if name.rpartition("#")[0] in listed], rng)


def write_texts(folder, texts, lists):
    """The archive of the captions and split lists."""
    members = {f"Flickr_8k.{LISTS[s]}.txt": "\n".join([*files, ""]) for s, files in lists.items()}
    members["Flickr8k.token.txt"] = "".join(f"{name}\t{text}\n" for name, text in texts.items())
    pack(folder / "Flickr8k_text.zip", members | {"readme.txt": ""})


def write_recordings(folder, names, rng, lost=()):
    """The archive of the recordings of captions; those `lost` are listed, but not there."""
    rows = {}
    for name in names:
        file, _, number = name.rpartition("#")
        rows[name] = (f"{file.removesuffix('.jpg')}_{number}.wav", file, f"#{number}")
    speakers = [f"{row[0]} {number % 183 + 1}\n" for number, row in enumerate(rows.values())]
    members = {
        "wav2capt.txt": "".join(" ".join(row) + "\n" for row in rows.values()),
        "wav2spk.txt": "".join(speakers),
    }
    present = [row[0] for name, row in rows.items() if name not in lost]
    members |= {f"wavs/{wav}": clip(len(wav) % 10, rng) for wav in rng.permutation(present)}
    pack(
        folder / "flickr_audio.tar.gz",
        {f"flickr_audio/{name}": content for name, content in members.items()},
    )
