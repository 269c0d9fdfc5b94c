"""Small splits of images with spoken captions."""

import io

import numpy as np
import torch
from PIL import Image

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View

OWNERS = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4])  # not every caption is spoken
FRAMES = np.array([50, 7, 16, 33, 64, 1, 95, 80, 130])
WORDS = 20


def make_split(images, clips, owners, texts=None):
    items = np.arange(len(images))
    ids = [f"caption{row}" for row in range(len(owners))]
    views = {
        "image": View(images, items, [str(item) for item in items], {}),
        "speech": View(clips, owners, ids, {}),
    }
    if texts is not None:
        views["text"] = View(texts, owners, ids, {"vocabulary": ["word"] * WORDS})
    return Split([str(item) for item in items], np.zeros((len(images), 0), bool), views)


def noise(rng, lengths, bins=40):
    clips = (rng.uniform(-80, 0, (length, bins)).astype(np.float16) for length in lengths)
    return Ragged.concatenate(clips)


def sentences(rng, count):
    lengths = rng.integers(1, 9, count)
    return Ragged.concatenate(rng.integers(1, WORDS, n).astype(np.int32) for n in lengths)


def image_files(rng, count):
    """Encoded images of noise, one as good as uniform colour each."""
    files = []
    for _ in range(count):
        stream = io.BytesIO()
        pixels = rng.integers(0, 256, (1, 1, 3)) + rng.integers(0, 60, (40, 50, 3))
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(stream, "PNG")
        files.append(np.frombuffer(stream.getvalue(), np.uint8))
    return Ragged.concatenate(files)


def placed(method, split):
    """A method with an untrained network, ready for its first batch."""
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def drawn(method, epoch=0):
    return list(method.batches(epoch, np.random.default_rng(epoch)))


def count(network):
    return sum(p.numel() for p in network.parameters())
