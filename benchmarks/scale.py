"""Minutes and peak memory of the methods of SAM's tables at the size of NUS-WIDE.

Each is fitted by itself, in a process of its own, on synthetic items of ten categories, with the
options of `nuswide_top10_<method>` in params.yaml and as many threads as there are processors. The
peer is CCA, in the same run. All of them take hours.
Run: python benchmarks/scale.py [--items 40000] [method ...]
"""

import argparse
import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np

from crossmodal import params, plugins
from crossmodal.data import Split, View
from crossmodal.methods.base import Run

IMAGE, WORDS, CATEGORIES, VALIDATION = 4_096, 1_000, 10, 1_000
PREFIX = "nuswide_top10_"
PEER = "cca"
EXPERIMENTS = params.read(Path("params.yaml"))


def make_split(count, rng):
    """Rectified image features and word counts that both lean towards their category's mean."""
    labels = np.eye(CATEGORIES, dtype=bool)[np.arange(count) % CATEGORIES]
    means = np.random.default_rng(0).standard_normal((CATEGORIES, IMAGE + WORDS), np.float32)
    image = labels.astype(np.float32) @ means[:, :IMAGE]
    image += rng.standard_normal(image.shape, np.float32)
    rates = 0.05 * np.exp(0.5 * means[:, IMAGE:])
    words = rng.poisson(labels @ rates).astype(np.float32)
    ids = [str(item) for item in range(count)]
    views = {"image": image.clip(min=0), "text": words}
    owners = np.arange(count)
    return Split(ids, labels, {m: View(rows, owners, ids, {}) for m, rows in views.items()})


def fit(method, items):
    """Minutes and gigabytes that one fit takes, with the first of each option that is searched."""
    job = EXPERIMENTS.fit_job(PREFIX + method)
    options = job["options"] | {name: values[0] for name, values in job["search"].items()}
    rng = np.random.default_rng(1)
    splits = make_split(items, rng), make_split(VALIDATION, rng)
    start = perf_counter()
    plugins.make("methods", job["plugin"], options, method).fit(*splits, Run(0, label=method))
    minutes = (perf_counter() - start) / 60
    return minutes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    known = [e.removeprefix(PREFIX) for e in EXPERIMENTS.tables["sam_nuswide_top10"].experiments]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=40_000)
    parser.add_argument("method", nargs="*", choices=[[], *known], metavar="method")
    arguments = parser.parse_args()
    methods = dict.fromkeys([PEER, *(arguments.method or known)])
    minutes = {}
    context = get_context("spawn")
    for method in methods:
        with ProcessPoolExecutor(1, context) as pool:
            minutes[method], memory = pool.submit(fit, method, arguments.items).result()
        ratio = minutes[method] / minutes[PEER]
        print(f"{method:14} {minutes[method]:7.2f} min  {ratio:6.1f} x {PEER}  {memory:5.2f} GB")


if __name__ == "__main__":
    main()
