"""Images per second of the extraction of CNN activations, next to a bare forward pass.

The bare pass is the same network, its batch norms folded, channels last and without read-out, on
ready tensors of the same batch size. "decoded" extracts from squares that are decoded already,
"extracted" from JPEG files. All take turns, so that other work on the machine hits all, and the
best round of each counts. The last column extracts from decoded squares in bfloat16. Weights are
random: they cost no more and no less than trained ones.
Run: OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/extraction.py
"""

import io
import resource
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from PIL import Image

from benchmarks.ratio import Row, in_turns, named
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.features._backbone import CROPS_AT_ONCE
from crossmodal.features.activations import Activations
from crossmodal.pretrained.backbones import random_network
from crossmodal.pretrained.read_out import fold

CASES = (
    ("efficientnet_lite0", "blocks"),
    ("efficientnet_lite0", "all"),
    ("squeezenet1_1", "all"),
    ("resnet50", "blocks"),
    ("vgg16", "all"),
)
CROPS_A_ROUND, ROUNDS = 160, 8
WIDTH, HEIGHT = 500, 375  # as on Flickr


def jpeg(rng):
    coarse = rng.integers(256, size=(HEIGHT // 25, WIDTH // 25, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.BICUBIC).save(stream, "JPEG", quality=90)
    return stream.getvalue()


def dataset(folder):
    rng = np.random.default_rng(0)
    with Writer(folder) as out:
        for index in range(CROPS_A_ROUND):
            out.item(f"{index}", "train", image=jpeg(rng), suffix=".jpg")
    return Prepared(folder)


@torch.inference_mode()
def bare_pass(network, batch):
    for _ in range(CROPS_A_ROUND // len(batch)):
        network(batch)


@torch.inference_mode()
def from_squares(feature, batches):
    for squares in batches:
        feature._values(squares)


def works(prepared, backbone, layers, crops):
    """A round of each way, the bare pass first."""
    options = {"backbone": backbone, "weights": "random", "crops": crops, "resize": "warp"}
    feature, narrow = (
        Activations(**options, layers=layers, precision=p) for p in ("float32", "bfloat16")
    )
    feature.setup(None)
    narrow.setup(None)
    network = fold(random_network(backbone, 0)).to(memory_format=torch.channels_last)
    size, side = CROPS_AT_ONCE["cpu"], feature.preparation.crop
    batch = torch.randn(size, 3, side, side).contiguous(memory_format=torch.channels_last)
    items = prepared.items[: CROPS_A_ROUND // crops]
    squares = [feature.preparation.square(prepared.read(i.image), i.id, "warp") for i in items]
    batches = torch.stack(squares).split(size // crops)
    return (
        partial(bare_pass, network, batch),
        partial(from_squares, feature, batches),
        partial(feature.extract, prepared, items, {}),
        partial(from_squares, narrow, batches),
    )


def compare(prepared, backbone, layers, crops):
    ways = works(prepared, backbone, layers, crops)
    times = in_turns(*ways, rounds=ROUNDS, clock=perf_counter)
    rates = [CROPS_A_ROUND // crops / seconds for seconds in times]
    shares = "".join(f"{rate / rates[0]:>11.2f}" for rate in rates[1:])
    print(f"{backbone:<20}{layers:<8}{crops:>5}{rates[0]:>12.1f}{shares}")


def ratios():
    with tempfile.TemporaryDirectory() as folder:
        prepared = dataset(Path(folder))
        for backbone, layers in CASES[:3]:
            bare, _, ours, _ = works(prepared, backbone, layers, 1)
            theirs, own = in_turns(bare, ours)
            size = f"{CROPS_A_ROUND} files of {WIDTH} x {HEIGHT} pixels"
            what = f"{layers} layers of {backbone}"
            note = "ours also decodes and averages each layer"
            yield Row(what, size, f"the bare network, {named('torch')}", own, theirs, note)


def main():
    print(f"{torch.get_num_threads()} threads, JPEG files of {WIDTH} x {HEIGHT} pixels")
    print(f"{'network':<20}{'layers':<8}{'crops':>5}   bare im/s    decoded  extracted   bfloat16")
    with tempfile.TemporaryDirectory() as folder:
        prepared = dataset(Path(folder))
        for backbone, layers in CASES:
            for crops in (1, 10):
                compare(prepared, backbone, layers, crops)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    print(f"peak memory of the process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
