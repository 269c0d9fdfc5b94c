"""Images per second of the extraction of CNN activations, next to a bare forward pass.

The bare pass is the same network, without read-out, on ready tensors of the same batch size; both
take turns, so that other work on the machine hits both, and the best round of each counts.
Run: OMP_NUM_THREADS=1 python benchmarks/extraction.py
"""

import io
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from crossmodal import backbones
from crossmodal.features.activations import CROPS_AT_ONCE, Activations
from crossmodal.prepared import Prepared
from crossmodal.writer import Writer

BACKBONE = "squeezenet1_1"
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


def seconds(work, *arguments):
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def compare(prepared, crops):
    feature = Activations(BACKBONE, "random", crops, "warp256", "post", 0)
    feature.fit(prepared, {}, "")
    network = backbones.random_network(BACKBONE, 0).to(memory_format=torch.channels_last)
    batch = torch.randn(CROPS_AT_ONCE["cpu"], 3, 224, 224)
    batch = batch.contiguous(memory_format=torch.channels_last)
    items = prepared.items[: CROPS_A_ROUND // crops]
    rounds = [
        (seconds(bare_pass, network, batch), seconds(feature.extract, prepared, items, {}))
        for _ in range(ROUNDS)
    ]
    bare, extracted = (len(items) / min(column) for column in zip(*rounds, strict=True))
    print(f"{crops:>5}{bare:>12.1f}{extracted:>12.1f}{extracted / bare:>9.2f}")


def main():
    print(f"{BACKBONE}, {torch.get_num_threads()} threads, JPEG files of {WIDTH} x {HEIGHT} pixels")
    print("crops  bare im/s  extr. im/s    ratio")
    with tempfile.TemporaryDirectory() as folder:
        prepared = dataset(Path(folder))
        for crops in (1, 10):
            compare(prepared, crops)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    print(f"peak memory of the process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
