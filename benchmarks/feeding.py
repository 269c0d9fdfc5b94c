"""Steps per second of a model that is fed from image files, next to the same fed from memory.

Each step takes a batch of random crops, as SISA and the second phase of VASE do, and then waits as
one does for a GPU, so that processors are free. `ahead` has worker processes, one for each
processor but the one that trains; `in turn` decodes between the steps. Waits are multiples of the
time that the workers need for a batch: at 1 the workers have no moment of rest.
Run: OMP_NUM_THREADS=1 python benchmarks/feeding.py [--workers 7] [--batch 32]
"""

import argparse
import io
import os
from functools import partial
from itertools import islice
from time import perf_counter, sleep

import numpy as np
from PIL import Image

from crossmodal.data.feature_file import Ragged
from crossmodal.images.crops import Preparation
from crossmodal.images.prefetch import prefetched
from crossmodal.images.random_crops import Pictures
from crossmodal.repeatability import use_one_thread

FILES, STEPS, WARM_UP = 64, 40, 4
SIZE = (500, 375)  # of an image of Flickr8k
WAITS = (1.0, 1.25, 1.5, 2.0, 4.0)


def photograph(rng):
    """A JPEG with structure at several scales."""
    pixels = np.zeros((SIZE[1], SIZE[0], 3), np.float32)
    for side in (4, 16, 64, 256):
        grain = Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8))
        pixels += np.asarray(grain.resize(SIZE, Image.Resampling.BICUBIC)) / 4
    stream = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(stream, "JPEG", quality=90)
    return np.frombuffer(stream.getvalue(), np.uint8)


def rate(batches, wait):
    """Steps per second after the first ones."""
    left = iter(batches)
    for _ in islice(left, WARM_UP):
        sleep(wait)
    start = perf_counter()
    for _ in left:
        sleep(wait)
    return (STEPS - WARM_UP) / (perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()
    use_one_thread()
    rng = np.random.default_rng(0)
    files = Ragged.concatenate(photograph(rng) for _ in range(FILES))
    pictures = Pictures(files, [str(row) for row in range(FILES)], Preparation())
    crops = partial(pictures.random_crops, mirror=True)
    requests = [(rng.integers(FILES, size=arguments.batch), seed) for seed in range(STEPS)]
    memory = [crops(*request) for request in requests]
    decoding = 1 / rate(prefetched(crops, requests, arguments.workers), 0)
    print(f"{arguments.workers} workers prepare a batch of {arguments.batch} in {decoding:.4f} s")
    print("wait (s)  memory  ahead  ratio  in turn  ratio (steps per second)")
    for wait in (decoding * factor for factor in WAITS):
        full = rate(memory, wait)
        ahead, in_turn = (
            rate(prefetched(crops, requests, n), wait) for n in (arguments.workers, 0)
        )
        print(
            f"{wait:8.4f}{full:8.2f}{ahead:7.2f}{ahead / full:7.2f}"
            f"{in_turn:9.2f}{in_turn / full:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
