"""A GPU in bfloat16 next to single precision: steps, epoch time, utilisation and memory at the
paper's size.

VASE with VGG16 in both phases, the frozen features of the first computed beforehand, and MISA: 640
photographs of 500 by 375 pixels, JPEG files, five clips each as long as those of Flickr8k, and the
options of params.yaml; an epoch is one of Flickr8k's 30,000 pairs. Other processes decode crops
ahead of the step, as in a job. Single precision is PyTorch's own, whose convolutions use TF32.
Utilisation is the share of time in which the GPU works, which the driver samples.
Run: PYTHONPATH=. python benchmarks/gpu.py [--workers 15]
"""

import argparse
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from statistics import mean
from threading import Event, Thread
from time import perf_counter
from unittest import mock

import numpy as np
import torch

from benchmarks.feeding import photograph
from crossmodal.config import params
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.learning.method import Run
from crossmodal.methods.matchmap import Matchmap
from crossmodal.methods.vase import VASE
from crossmodal.repeatability import use_deterministic_algorithms, use_one_thread

PHOTOGRAPHS, DISTINCT, CLIPS, PAIRS = 640, 64, 5, 30_000
BINS, FRAMES = 40, (12, 33)  # mean 400, deviation 115: the gamma distribution of the lengths
WARM_UP, INTERVAL = 10, 0.05  # steps; seconds between two samples of the driver
OPTIONS = {"image_network": "vgg16", "image_weights": "random", "epochs": 1}
METHODS = {
    "vase_vgg16": (VASE, {"finetuning_epochs": 1}, ("VASE, first phase", "VASE, second phase")),
    "misa": (Matchmap, {}, ("MISA",)),
}


def make_split(count, rng):
    """Photographs, each with its clips."""
    files = [photograph(rng) for _ in range(min(count, DISTINCT))]
    images = Ragged.concatenate(files[row % DISTINCT] for row in range(count))
    lengths = rng.gamma(*FRAMES, count * CLIPS).clip(100, 1_000).astype(int)
    clips = Ragged.concatenate(rng.uniform(-80, 0, (n, BINS)).astype(np.float16) for n in lengths)
    owners = np.arange(count * CLIPS) // CLIPS
    views = {
        "image": View(images, np.arange(count), [str(row) for row in range(count)], {}),
        "speech": View(clips, owners, [str(row) for row in range(len(owners))], {}),
    }
    return Split(list(range(count)), np.zeros((count, 0), bool), views)


class Meter:
    """Added to a method, notes seconds of a step, utilisation and GB of each phase."""

    def __init__(self, **options):
        super().__init__(**options)
        self.found, self.steps = [], 0

    def loss(self, batch):
        """After the warm-up the clock starts."""
        self.steps += 1
        if self.steps == WARM_UP:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            self.busy, self.ended, self.begun = [], Event(), perf_counter()
            self.sampler = Thread(target=self.sample)
            self.sampler.start()
        return super().loss(batch)

    def sample(self):
        """Ask the driver, until the phase ends."""
        while not self.ended.wait(INTERVAL):
            self.busy.append(torch.cuda.utilization())

    def validate(self, validation):
        """The epoch, of which each phase has one, is over."""
        torch.cuda.synchronize()
        seconds = (perf_counter() - self.begun) / (self.steps - WARM_UP + 1)
        self.ended.set()
        self.sampler.join()
        self.found.append((seconds, mean(self.busy), torch.cuda.max_memory_allocated() / 1e9))
        self.steps = 0
        return super().validate(validation)


def measure(kind, options, splits, workers):
    method = type("Metered", (Meter, kind), {})(**options)
    method.fit(*splits, Run(seed=0, threads=workers + 1))
    return method.found


def in_single_precision(kind, options, splits, workers):
    with mock.patch("torch.autocast", return_value=nullcontext()):
        return measure(kind, options, splits, workers)


def main():
    if not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py needs a GPU")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    workers = parser.parse_args().workers
    use_one_thread()
    use_deterministic_algorithms(True)
    presets = params.read(Path("params.yaml"))
    rng = np.random.default_rng(0)
    splits = make_split(PHOTOGRAPHS, rng), make_split(2, rng)
    print(f"{torch.cuda.get_device_name()}, {workers} workers decode")
    print(f"{'':<20}{'bf16':>32}{'float32':>32}")
    print(f"{'':<20}" + 2 * f"{'steps/s':>9}{'epoch, s':>10}{'busy':>6}{'GB':>7}" + "   ratio")
    for name, (kind, others, rows) in METHODS.items():
        options = presets.plugin("methods", name)["options"] | OPTIONS | others
        found = [f(kind, options, splits, workers) for f in (measure, in_single_precision)]
        for row, *both in zip(rows, *found, strict=True):
            cells = [
                f"{1 / s:9.2f}{PAIRS / options['batch'] * s:10.1f}{busy:5.0f}%{memory:7.1f}"
                for s, busy, memory in both
            ]
            print(f"{row:<20}{''.join(cells)}{both[1][0] / both[0][0]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
