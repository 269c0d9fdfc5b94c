"""Minutes and peak memory of fits at several sizes, next to what is estimated before they run.

Each fit is the step `train` in a process of its own, on synthetic items of ten categories with the
options of its experiment in params.yaml, one thread, and as few epochs as the option --short asks
for: memory does not depend on them. The peer is the estimate in the same row.
Run: python benchmarks/scale.py [--short] [--items 42941] [--columns 4096] experiment ...
"""

import argparse
import json
import resource
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from crossmodal.config import params, plugins
from crossmodal.data.feature_file import Ragged, write_features
from crossmodal.io.files import write_csv
from crossmodal.repeatability import use_one_thread
from crossmodal.resources.sizes import FitSize, RowSize
from crossmodal.steps.train import train

CATEGORIES, FACTORS, VOCABULARY = 10, 128, 5_000
CHUNK = 1000
SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
SHORT = {"triplets": 10_000, "iterations": 2, "epochs": 1} | dict.fromkeys(
    ("steps", "pretraining_steps", "classifier_steps", "correspondence_steps"), 100
)


@cache
def parameters():
    """params.yaml; not read by the processes that are measured."""
    return params.read(Path("params.yaml"))


def rows_of(feature, columns, count):
    """Size of a synthetic feature of the same kind."""
    plugin = parameters().features[feature]["plugin"]
    modality = parameters().feature_of(feature).modality
    if plugin == "tokens":
        return RowSize(5 * count, 12, 4, 12, VOCABULARY)
    if plugin == "logmel":
        return RowSize(5 * count, 300 * 40, 2, 300)
    if plugin == "fne" and parameters().features[feature]["thresholds"]:
        return RowSize(count, columns, 1)
    return RowSize(count, columns if modality == "image" else columns // 4)


def values(size, rng):
    """Chunks of rows that lean towards their category's mean, or sequences."""
    directions = np.random.default_rng(0).standard_normal((CATEGORIES + FACTORS, int(size.width)))
    for start in range(0, int(size.count), CHUNK):
        rows = np.arange(start, min(start + CHUNK, int(size.count)))
        if size.words:
            words = rng.integers(4, size.words, (len(rows), 12), dtype=np.int32)
            yield Ragged.concatenate(list(words))
        elif size.steps:
            frames = rng.standard_normal((len(rows), 300, 40)).astype(np.float16)
            yield Ragged.concatenate(list(frames))
        elif size.itemsize == 1:
            yield rng.integers(-1, 2, (len(rows), int(size.width)), np.int8)
        else:
            factors = 0.3 * rng.standard_normal((len(rows), FACTORS))
            weights = np.hstack([np.eye(CATEGORIES)[rows % CATEGORIES], factors])
            yield (weights @ directions).clip(min=0).astype(np.float32)


class Chunks:
    """The rows of a feature, made anew each time they are iterated."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return values(self.size, np.random.default_rng(1))


def make_dataset(folder, views, count):
    """Files that the step reads; splits are drawn, so that their rows alternate in the files."""
    rng = np.random.default_rng(2)
    splits = rng.choice(list(SHARES), count, p=list(SHARES.values()))
    ids = [f"item{item}" for item in range(count)]
    items = ([id, f"c{i % CATEGORIES}", f"c{i % CATEGORIES}", ""] for i, id in enumerate(ids))
    write_csv(folder / "items.csv", ["id", "category", "labels", "image"], items)
    write_csv(folder / "splits.csv", ["item", "split"], zip(ids, splits, strict=True))
    write_csv(folder / "captions.csv", ["id", "item", "text", "audio"], [])
    for feature, size in views.items():
        each = int(size.count) // count
        owners = [id for id in ids for _ in range(each)]
        rows = [f"{id}#{i % each}" for i, id in enumerate(owners)] if each > 1 else ids
        meta = {"vocabulary": [str(word) for word in range(size.words)]}
        write_features(folder / f"{feature}.h5", rows, owners, Chunks(size), meta)


def fit(job, folder):
    """Seconds and peak bytes of one fit."""
    use_one_thread()
    start = perf_counter()
    train(job, folder / "run/model.safetensors", folder, folder, folder, 0)
    return perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(experiment, count, columns, short):
    """Measured and estimated seconds and bytes of a fit with the first of searched options."""
    job = parameters().fit_job(experiment)
    searched = {name: found[0] for name, found in job["search"].items()}
    options = job["options"] | searched
    options |= {name: value for name, value in SHORT.items() if short and name in options}
    if short and options.get("drop_epoch"):
        options["drop_epoch"] = None
    stored = {m: rows_of(name, columns, count) for m, name in job["views"].items()}
    size = FitSize(stored, SHARES, SHARES["train"] * count, CATEGORIES, CATEGORIES)
    needs = plugins.make("methods", job["plugin"], options, experiment).resources(size)
    context = get_context("spawn")
    with TemporaryDirectory() as name:
        folder = Path(name)
        views = {feature: stored[m] for m, feature in job["views"].items()}
        with ProcessPoolExecutor(1, context) as pool:
            pool.submit(make_dataset, folder, views, count).result()
        spec = {**job, "options": options, "search": {}, "relevance": "category", "gpu": False}
        with ProcessPoolExecutor(1, context) as pool:
            seconds, memory = pool.submit(fit, spec, folder).result()
    return seconds, memory, needs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one epoch, few triplets")
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 4_000, 8_000, 16_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[512, 1_024, 2_048, 4_096])
    parser.add_argument(
        "experiment", nargs="+", choices=[*parameters().experiments], metavar="experiment"
    )
    arguments = parser.parse_args()
    for experiment in arguments.experiment:
        for count, columns in zip(arguments.items, arguments.columns, strict=True):
            seconds, memory, needs = measure(experiment, count, columns, arguments.short)
            found = {
                "experiment": experiment,
                "items": count,
                "columns": columns,
                "GB": round(memory / 1e9, 2),
                "estimated GB": round(needs.memory / 1e9, 2),
                "memory ratio": round(needs.memory / memory, 2),
                "minutes": round(seconds / 60, 2),
                "estimated minutes": round(needs.time(gpu=False) / 60, 2),
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
