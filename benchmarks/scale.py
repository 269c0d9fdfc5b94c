"""Minutes and peak memory of a table's methods at the size of NUS-WIDE.

Each is fitted by itself, in a process of its own, on synthetic items of ten categories, with the
options of its experiment in params.yaml and as many threads as there are processors. The peer is
the table's first, CCA, in the same run. All of them take hours.
Run: python benchmarks/scale.py [--table sam_nuswide_top10] [--items 40000] [experiment ...]
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

IMAGE, WORDS, FACTORS, CATEGORIES, VALIDATION = 4_096, 1_000, 128, 10, 1_000
PARAMS = params.read(Path("params.yaml"))


def make_split(count, rng):
    """Rectified image features and word counts that both lean towards their category's mean.

    Image features vary along a few directions, as a network's do, and a little along all.
    """
    labels = np.eye(CATEGORIES, dtype=bool)[np.arange(count) % CATEGORIES]
    fixed = np.random.default_rng(0)
    means = fixed.standard_normal((CATEGORIES, IMAGE + WORDS), np.float32)
    directions = fixed.standard_normal((FACTORS, IMAGE), np.float32) / FACTORS**0.5
    image = labels.astype(np.float32) @ means[:, :IMAGE]
    image += rng.standard_normal((count, FACTORS), np.float32) @ directions
    image += 0.1 * rng.standard_normal(image.shape, np.float32)
    rates = 0.05 * np.exp(0.5 * means[:, IMAGE:])
    words = rng.poisson(labels @ rates).astype(np.float32)
    ids = [str(item) for item in range(count)]
    views = {"image": image.clip(min=0), "text": words}
    owners = np.arange(count)
    return Split(ids, labels, {m: View(rows, owners, ids, {}) for m, rows in views.items()})


def fit(experiment, items):
    """Minutes and gigabytes that one fit takes, with the first of each option that is searched."""
    job = PARAMS.fit_job(experiment)
    options = job["options"] | {name: values[0] for name, values in job["search"].items()}
    rng = np.random.default_rng(1)
    splits = make_split(items, rng), make_split(VALIDATION, rng)
    start = perf_counter()
    method = plugins.make("methods", job["plugin"], options, experiment)
    method.fit(*splits, Run(0, label=experiment))
    minutes = (perf_counter() - start) / 60
    return minutes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=PARAMS.tables, default="sam_nuswide_top10")
    parser.add_argument("--items", type=int, default=40_000)
    parser.add_argument("experiment", nargs="*")
    arguments = parser.parse_args()
    known = PARAMS.tables[arguments.table].experiments
    if unknown := set(arguments.experiment) - set(known):
        parser.error(f"not of {arguments.table}: {', '.join(unknown)}; it has {', '.join(known)}")
    peer = known[0]
    minutes = {}
    context = get_context("spawn")
    for experiment in dict.fromkeys([peer, *(arguments.experiment or known)]):
        with ProcessPoolExecutor(1, context) as pool:
            minutes[experiment], memory = pool.submit(fit, experiment, arguments.items).result()
        ratio = minutes[experiment] / minutes[peer]
        shown = f"{minutes[experiment]:7.2f} min  {ratio:6.1f} x {peer}  {memory:5.2f} GB"
        print(f"{experiment:28} {shown}", flush=True)


if __name__ == "__main__":
    main()
