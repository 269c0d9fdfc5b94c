"""Time per triplet of CMOLRS (J = 1) and fast-CMOLRS (J = 4), on one thread.

First next to full-SGD, to the authors' loop in plain NumPy and to their code
(github.com/yiling2018/cmolrs) under Octave, where that is installed and CMOLRS names a folder with
the code: the same items, rank, margins and steps, and triplets drawn alike. Then against the number
of triplets and of dimensions: the time of a triplet stays the same, and is in proportion to the
dimensions. Every triplet violates its margin nearly all the time here, which is the slowest case.
Time is that of the processor.
Run: [CMOLRS=FOLDER] PYTHONPATH=. python benchmarks/online.py
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from scipy.io import savemat
from threadpoolctl import threadpool_limits

from benchmarks.ratio import Row, named, not_measured
from crossmodal.methods._online.full_rank import FullRank
from crossmodal.methods._online.hinge import Margin
from crossmodal.methods._online.loop import Batch, Hyperparameters
from crossmodal.methods._online.loreta import LowRank
from crossmodal.methods._online.triplets import make_sampler

STEP_SIZE, SCALE, WEIGHT, CLASSES, ITEMS = 1.0, 20.0, 0.5, 10, 2000
SIZES = [((128, 10), 8, 80_000, 2000), ((399, 4096), 32, 4000, 400)]
COUNTS = (20_000, 40_000, 80_000, 160_000)
WIDTHS = (250, 500, 1000, 2000, 4000)
SOURCE = "github.com/yiling2018/cmolrs"
# prints seconds; counts from 1
OCTAVE = """
addpath('{folder}'); load('{data}'); warning('off', 'all');
params = struct('dir', 1, 'rank', columns(A), 'base_margin', scale, 'alph', weight, ...
    'step_size', step, 'list_size', (columns(lists) - 1) / 2, 'batch_size', rows(lists));
start = cputime();
loreta_similarity_list_triplet(A, B, X, Y, L, 0, lists, params);
printf('%.6f', cputime() - start);
"""


def make_batch(widths, precision):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, CLASSES, ITEMS)
    rows = [rng.standard_normal((ITEMS, width)) for width in widths]
    rows = [(r / np.linalg.norm(r, axis=1, keepdims=True)).astype(precision) for r in rows]
    labels = np.eye(CLASSES, dtype=bool)[kinds]
    return Batch(*rows, make_sampler(labels, labels)), kinds


def make_learner(widths, rank, precision, length):
    hyperparameters = Hyperparameters(STEP_SIZE, length, Margin(SCALE, WEIGHT, 0.0))
    return LowRank.start(widths, rank, hyperparameters, np.random.default_rng(0), precision)


def updated_inverse(factor, inverse, column, row):
    """Meyer's update; `inverse` is (k, d)."""
    inside, normal = inverse @ column, row @ inverse
    outside, back = column - factor @ inside, inverse @ normal
    pivot, outer = 1 + row @ inside, outside @ outside
    along_outside = pivot * back - (normal @ normal) * inside
    along_normal = outer * back + pivot * inside
    change = np.outer(along_outside, outside) - np.outer(along_normal, normal)
    return inverse + change / (outer * (normal @ normal) + pivot**2)


def numpy_steps(learner, batch, kinds, lists):
    A, B = learner.factors()
    Ap, Bp = np.linalg.pinv(A), np.linalg.pinv(B)
    rng, length = np.random.default_rng(1), learner.hyperparameters.triplets_per_query
    classes = [(np.flatnonzero(kinds == c), np.flatnonzero(kinds != c)) for c in range(CLASSES)]
    for _ in range(lists):
        query = rng.integers(len(kinds))
        same, other = classes[kinds[query]]
        difference = batch.documents[rng.choice(same, length)]
        difference = difference - batch.documents[rng.choice(other, length)]
        distance = np.sqrt((difference**2).sum(axis=1))
        gap = difference @ (B @ (batch.queries[query] @ A))
        violating = gap < SCALE * (WEIGHT * distance + (1 - WEIGHT) * 2)
        if violating.any():
            p, q = STEP_SIZE * batch.queries[query], difference[violating].sum(axis=0)
            a, b = Ap @ p, Bp @ q
            s = a @ b
            p_column = (A @ a) * (0.375 * s - 0.5) + p * (1 - 0.5 * s)
            q_column = (B @ b) * (0.375 * s - 0.5) + q * (1 - 0.5 * s)
            Ap, Bp = updated_inverse(A, Ap, p_column, b), updated_inverse(B, Bp, q_column, a)
            A, B = A + np.outer(p_column, b), B + np.outer(q_column, a)


def draw_lists(kinds, length, count):
    """Queries, their positives and their negatives, (count, 1 + 2 J)."""
    rng = np.random.default_rng(1)
    classes = [(np.flatnonzero(kinds == c), np.flatnonzero(kinds != c)) for c in range(CLASSES)]
    queries = rng.integers(len(kinds), size=count)
    drawn = [[rng.choice(pool, length) for pool in classes[kinds[query]]] for query in queries]
    return np.column_stack([queries, np.reshape(drawn, (count, 2 * length))])


def time_octave(learner, batch, kinds, lists):
    """Microseconds per triplet of the authors' code; NaN without it."""
    authors = os.environ.get("CMOLRS")
    if not authors or not shutil.which("octave"):
        return float("nan")
    (a, b), length = learner.factors(), learner.hyperparameters.triplets_per_query
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.mat"
        views = {"X": batch.queries.T, "Y": batch.documents.T, "L": np.eye(CLASSES)[kinds].T}
        numbers = {"scale": SCALE, "weight": WEIGHT, "step": STEP_SIZE}
        drawn = {"lists": draw_lists(kinds, length, lists) + 1.0}
        everything = {"A": a, "B": b, **views, **numbers, **drawn}
        savemat(data, {name: np.asarray(value, float) for name, value in everything.items()})
        script = OCTAVE.format(folder=authors, data=data)
        command = ["octave", "--quiet", "--no-init-file", "--eval", script]
        alone = os.environ | {"OMP_NUM_THREADS": "1"}
        found = subprocess.run(command, env=alone, capture_output=True, text=True, check=True)
    return float(found.stdout) / (lists * length) * 1e6


def time_full_sgd(batch, length, triplets):
    """Microseconds per triplet of full-SGD."""
    widths = batch.queries.shape[1], batch.documents.shape[1]
    hyperparameters = Hyperparameters(STEP_SIZE, length, Margin(SCALE, WEIGHT, 0.0))
    learner = FullRank(np.zeros(widths), hyperparameters, np.random.default_rng(0))
    learner.partial_fit(batch, 10)  # compiles
    return microseconds(lambda lists: learner.partial_fit(batch, lists), triplets, length)


def microseconds(work, triplets, length):
    """Best of three, per triplet."""
    times = []
    for _ in range(3):
        start = process_time()
        work(triplets // length)
        times.append(process_time() - start)
    return min(times) / triplets * 1e6


def time_learning(batch, rank, precision, length, triplets):
    """Microseconds per triplet and the share of violating triplets."""
    widths = batch.queries.shape[1], batch.documents.shape[1]
    learner = make_learner(widths, rank, precision, length)
    learner.partial_fit(batch, 10)  # compiles
    found = microseconds(lambda lists: learner.partial_fit(batch, lists), triplets, length)
    return found, learner.partial_fit(batch, 100)[1]


def time_numpy(learner, batch, kinds, triplets, length):
    """Microseconds per triplet of the authors' loop in NumPy."""

    def run(lists):
        numpy_steps(learner, batch, kinds, lists)

    return microseconds(run, triplets, length)


def octave_version():
    """Words for Octave, with its version where it is installed."""
    if not shutil.which("octave"):
        return "Octave"
    text = subprocess.run(["octave", "--version"], capture_output=True, text=True, check=True)
    return f"Octave {text.stdout.split()[3]}"


def ratios():
    """In float64, as Octave computes."""
    authors = f"the authors' code, {octave_version()}"
    needed = f"Octave, and CMOLRS=FOLDER with the authors' code ({SOURCE})"
    with threadpool_limits(1):
        for widths, rank, triplets, few in SIZES:
            batch, kinds = make_batch(widths, np.float64)
            size = f"{widths[0]:,} + {widths[1]:,} columns, rank {rank}, float64"
            for length, name in ((1, "CMOLRS"), (4, "fast-CMOLRS")):
                what = f"{name}, a triplet"
                own = time_learning(batch, rank, np.float64, length, triplets)[0] * 1e-6
                learner = make_learner(widths, rank, np.float64, length)
                loop = time_numpy(learner, batch, kinds, few, length) * 1e-6
                yield Row(what, size, f"the authors' loop, {named('numpy')}", own, loop)
                octave = time_octave(learner, batch, kinds, few // length) * 1e-6
                if np.isnan(octave):
                    yield not_measured(what, size, authors, needed)
                else:
                    yield Row(what, size, authors, own, octave)


def compare():
    print("widths       rank  precision  J  us  full-SGD us  NumPy us  Octave us  violating")
    for widths, rank, triplets, numpy_triplets in SIZES:
        for precision in (np.float32, np.float64):
            batch, kinds = make_batch(widths, precision)
            for length in (1, 4):
                fast, violating = time_learning(batch, rank, precision, length, triplets)
                learner = make_learner(widths, rank, precision, length)
                slow = time_numpy(learner, batch, kinds, numpy_triplets, length)
                full = time_full_sgd(batch, length, numpy_triplets)
                octave = time_octave(learner, batch, kinds, numpy_triplets // length)
                print(
                    f"{widths!s:12} {rank:4}  {precision.__name__:9} {length:2} {fast:6.2f} "
                    f"{full:9.2f} {slow:9.2f} {octave:9.2f} {violating:8.2f}"
                )


def show_linearity():
    print("\ntriplets  us per triplet, (128, 10), rank 8, J = 4")
    batch, _ = make_batch((128, 10), np.float64)
    for count in COUNTS:
        print(f"{count:8}  {time_learning(batch, 8, np.float64, 4, count)[0]:.2f}")
    print("\nwidths  us per triplet  us per 1,000 dimensions, rank 16, J = 4")
    for width in WIDTHS:
        batch, _ = make_batch((width, width), np.float64)
        found, _ = time_learning(batch, 16, np.float64, 4, 8000)
        print(f"{width:6}  {found:14.2f}  {found / (2 * width) * 1000:.2f}")


def main():
    with threadpool_limits(1):
        compare()
        show_linearity()


if __name__ == "__main__":
    main()
