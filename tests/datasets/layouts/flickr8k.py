"""Flickr8k in small: photographs and texts in a zip each, recordings in a tar.gz."""

import io
import tarfile
import zipfile

import numpy as np
import soundfile

from crossmodal.rendering.grammar import captions
from crossmodal.rendering.image import draw, jpeg
from crossmodal.rendering.scene import CATEGORIES, random_scene

OPTIONS = {"speech": "recorded"}
SIZES = {"train": 60, "validation": 20, "test": 20}
LISTS = {"train": "trainImages", "validation": "devImages", "test": "testImages"}
BOGUS = "2258277193_586949ec62.jpg.1"


def make(folder, rng, sizes=SIZES):
    """Write the three archives; two images are in no split, and one id names no image."""
    images, texts, lists = {}, {}, {split: [] for split in sizes}
    splits = [split for split, size in sizes.items() for _ in range(size)]
    for number, split in enumerate([*splits, *2 * ["none"]]):
        scene = random_scene(CATEGORIES[number % len(CATEGORIES)], rng)
        file = f"{1000268201 + 7919 * number}_{number:010x}.jpg"
        images[file] = jpeg(draw(scene, 32, rng))
        texts |= {f"{file}#{k}": text for k, text in enumerate(captions(scene, 5, rng))}
        if split != "none":
            lists[split].append(file)
    texts |= {f"{BOGUS}#{k}": "Two boys running ." for k in range(5)}
    write_images(folder, images)
    write_texts(folder, texts, lists)
    listed = {file for files in lists.values() for file in files}
    write_recordings(folder, [name for name in texts if name.rpartition("#")[0] in listed], rng)


def write_images(folder, images):
    """The archive of the photographs."""
    with zipfile.ZipFile(folder / "Flickr8k_Dataset.zip", "w") as archive:
        archive.mkdir("Flicker8k_Dataset")
        for file, content in images.items():
            archive.writestr(f"Flicker8k_Dataset/{file}", content)
            archive.writestr(f"__MACOSX/Flicker8k_Dataset/._{file}", b"\x00\x05")


def write_texts(folder, texts, lists):
    """The archive of the captions and split lists."""
    tokens = "".join(f"{name}\t{text}\n" for name, text in texts.items())
    with zipfile.ZipFile(folder / "Flickr8k_text.zip", "w") as archive:
        archive.writestr("Flickr8k.token.txt", tokens)
        archive.writestr("readme.txt", "")
        for split, files in lists.items():
            content = "".join(f"{file}\n" for file in files)
            archive.writestr(f"Flickr_8k.{LISTS[split]}.txt", content)


def write_recordings(folder, names, rng, lost=()):
    """The archive of the recordings of captions; those `lost` are listed, but not there."""
    rows = {}
    for name in names:
        file, _, number = name.rpartition("#")
        rows[name] = (f"{file.removesuffix('.jpg')}_{number}.wav", file, f"#{number}")
    lines = "".join(" ".join(row) + "\n" for row in rows.values())
    speakers = "".join(f"{row[0]} {k % 183 + 1}\n" for k, row in enumerate(rows.values()))
    members = {"wav2capt.txt": lines.encode(), "wav2spk.txt": speakers.encode()}
    present = [row for name, row in rows.items() if name not in lost]
    members |= {f"wavs/{present[k][0]}": speech(k, rng) for k in rng.permutation(len(present))}
    with tarfile.open(folder / "flickr_audio.tar.gz", "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"flickr_audio/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def speech(number, rng):
    """Noise and a tone, a tenth of a second."""
    times = np.arange(1600) / 16_000
    samples = 0.3 * np.sin(2 * np.pi * (200 + 10 * number) * times) + rng.normal(0, 0.01, 1600)
    stream = io.BytesIO()
    soundfile.write(stream, samples, 16_000, format="WAV", subtype="PCM_16")
    return stream.getvalue()
