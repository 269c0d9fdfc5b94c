"""What a feature in parts costs beside its extraction: hashing, joining, and reading the items.

Processor time, which other work of the machine does not change; docs/scale.md has the rates.
"""

import os
import tempfile
import tracemalloc
from pathlib import Path
from time import process_time

import numpy as np

from crossmodal.data.feature import Feature
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.io.files import sha256
from crossmodal.steps import extract_part, join_parts
from crossmodal.workflow.specs import ExtractSpec

ITEMS, WIDTH, PARTS = 50_000, 1_024, 4


class Constant(Feature):
    """Rows of ones, which cost nothing."""

    modality = "image"
    reads = ("items.csv",)
    chunk = 1_000

    def extract(self, dataset, rows, sources):
        return np.ones((len(rows), WIDTH), np.float32)


def plant(folder):
    """Items with a caption each."""
    with Writer(folder) as out:
        for number in range(ITEMS):
            out.item(f"item{number:09d}", "train", "category", image=None)
            out.caption(f"item{number:09d}#0", f"item{number:09d}", "a dog runs over the grass")


def timed(work, *arguments):
    """Seconds of the processor."""
    start = process_time()
    work(*arguments)
    return process_time() - start


def read(folder):
    dataset = Prepared(folder)
    return dataset.items, dataset.captions, dataset.splits


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        folder, features = Path("data/prepared/toy"), Path("features/toy")
        plant(folder)
        read(folder)  # once, so that nothing is imported later
        seconds = timed(read, folder)
        tracemalloc.start()
        held = read(folder)
        size = tracemalloc.get_traced_memory()[0] / len(held[0])
        tracemalloc.stop()
        print(f"reading    {1e6 * seconds / ITEMS:6.1f} us and {size:6.0f} bytes a pair")
        extract_part.plugins.make = lambda *_: Constant()
        paths = [features / f"ones.parts/{n}-of-{PARTS}.zip" for n in range(1, PARTS + 1)]
        spec = ExtractSpec(plugin="toy", options={})
        for n, path in enumerate(paths, 1):
            extract_part.extract_part(spec, path, folder, features, Path(), n, PARTS)
        output = features / "ones.h5"
        joining = timed(join_parts.join_parts, output, paths)
        megabytes = output.stat().st_size / 1e6
        print(f"joining    {1e3 * joining / megabytes:6.1f} ms a MB")
        print(f"hashing    {1e3 * timed(sha256, output) / megabytes:6.1f} ms a MB")


if __name__ == "__main__":
    main()
