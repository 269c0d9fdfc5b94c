"""Seconds for an hour of speech of log-mel features, next to the bare filters.

Clips as the synthesiser makes them, FLAC of 2 to 6 s, read, decoded and turned into frames; and the
same from samples in memory. As many processes as processors, each with one thread, as jobs run.
Run: OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/logmel.py
"""

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import process_time

import numpy as np
import torch

from benchmarks.ratio import Row, named, show
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.features.logmel import LogMel
from crossmodal.io.sound_files import RATE, read_speech
from crossmodal.rendering.synthesiser import flac

CLIPS, ROUNDS = 200, 4


def dataset(folder):
    rng = np.random.default_rng(0)
    with Writer(folder) as out:
        out.item("a", "train")
        for index in range(CLIPS):
            samples = rng.normal(0, 0.1, int(RATE * rng.uniform(2, 6))).clip(-1, 1)
            out.caption(f"{index}", "a", audio=flac(samples), suffix=".flac")


def measure(folder):
    """Seconds of speech; seconds for whole clips and for samples alone, the best of the rounds."""
    torch.set_num_threads(1)
    prepared, feature = Prepared(Path(folder)), LogMel(kind="logmel", frames=2048)
    feature.setup(None)
    rows = feature.rows(prepared)
    clips = [read_speech(prepared.read(row.audio), row.audio) for row in rows]
    whole, bare = [], []
    for _ in range(ROUNDS):
        start = process_time()
        feature.extract(prepared, rows, {})
        middle = process_time()
        for clip in clips:
            feature.spectrogram(clip)
        whole.append(middle - start)
        bare.append(process_time() - middle)
    return sum(map(len, clips)) / RATE, min(whole), min(bare)


def ratios():
    count = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(count) as pool:
        dataset(Path(folder))
        found = list(pool.map(measure, [folder] * count))
    speech, whole, bare = (sum(column) for column in zip(*found, strict=True))
    yield Row(
        "Log-mel frames from FLAC files, an hour of speech",
        f"{count} processes, clips of {speech / count / CLIPS:.1f} s",
        f"the bare filters, {named('torchaudio')}",
        *(3600 * seconds / speech for seconds in (whole, bare)),
        "ours also reads and decodes",
    )


if __name__ == "__main__":
    show(ratios())
