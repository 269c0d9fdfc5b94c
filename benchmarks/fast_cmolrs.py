"""Time per triplet of fast-CMOLRS next to the same loop in plain NumPy, on one thread.

Every triplet violates its margin nearly all the time here, which is the slowest case.
"""

import argparse
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from crossmodal.online.hinge import Margin
from crossmodal.online.loreta import Learner, Options
from crossmodal.online.triplets import make_sampler

LENGTH, STEP_SIZE, SCALE, WEIGHT = 4, 1.0, 20.0, 0.5
SIZES = [((128, 10), 8, 20_000, 500), ((399, 4096), 32, 1000, 100)]


def make_learner(widths, rank, precision):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 10, 2000)
    rows = [rng.standard_normal((2000, width)) for width in widths]
    rows = [(r / np.linalg.norm(r, axis=1, keepdims=True)).astype(precision) for r in rows]
    labels = np.eye(10, dtype=bool)[kinds]
    options = Options(rank, STEP_SIZE, LENGTH, Margin(SCALE, WEIGHT))
    return Learner.start(*rows, make_sampler(labels, labels), options, rng, precision), kinds


def updated_inverse(factor, inverse, column, row):
    """Meyer's update; `inverse` is (k, d)."""
    inside, normal = inverse @ column, row @ inverse
    outside, back = column - factor @ inside, inverse @ normal
    pivot, outer = 1 + row @ inside, outside @ outside
    along_outside = pivot * back - (normal @ normal) * inside
    along_normal = outer * back + pivot * inside
    change = np.outer(along_outside, outside) - np.outer(along_normal, normal)
    return inverse + change / (outer * (normal @ normal) + pivot**2)


def numpy_steps(learner, kinds, lists):
    A, B = learner.factors.query, learner.factors.document
    Ap, Bp = np.linalg.pinv(A), np.linalg.pinv(B)
    rng = np.random.default_rng(1)
    classes = [(np.flatnonzero(kinds == c), np.flatnonzero(kinds != c)) for c in range(10)]
    for _ in range(lists):
        query = rng.integers(len(kinds))
        same, other = classes[kinds[query]]
        difference = learner.documents[rng.choice(same, LENGTH)]
        difference = difference - learner.documents[rng.choice(other, LENGTH)]
        distance = np.sqrt((difference**2).sum(axis=1))
        gap = difference @ (B @ (learner.queries[query] @ A))
        violating = gap < SCALE * (WEIGHT * distance + (1 - WEIGHT) * 2)
        if violating.any():
            p, q = STEP_SIZE * learner.queries[query], difference[violating].sum(axis=0)
            a, b = Ap @ p, Bp @ q
            s = a @ b
            p_column = (A @ a) * (0.375 * s - 0.5) + p * (1 - 0.5 * s)
            q_column = (B @ b) * (0.375 * s - 0.5) + q * (1 - 0.5 * s)
            Ap, Bp = updated_inverse(A, Ap, p_column, b), updated_inverse(B, Bp, q_column, a)
            A, B = A + np.outer(p_column, b), B + np.outer(q_column, a)


def microseconds(work, lists):
    """Best of three, per triplet."""
    times = []
    for _ in range(3):
        start = perf_counter()
        work(lists)
        times.append(perf_counter() - start)
    return min(times) / lists / LENGTH * 1e6


def compare(widths, rank, precision, lists, numpy_lists):
    learner, _ = make_learner(widths, rank, precision)
    learner.advance(10)  # compiles
    fast = microseconds(learner.advance, lists)
    _, violating = learner.advance(100)
    learner, kinds = make_learner(widths, rank, precision)
    slow = microseconds(lambda count: numpy_steps(learner, kinds, count), numpy_lists)
    print(
        f"{widths!s:12} {rank:4}  {precision.__name__:9} {fast:11.2f} {slow:9.2f} "
        f"{slow / fast:6.1f} {violating:10.2f}"
    )


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("widths       rank  precision compiled us  NumPy us  ratio  violating")
    with threadpool_limits(1):
        for widths, rank, lists, numpy_lists in SIZES:
            for precision in (np.float32, np.float64):
                compare(widths, rank, precision, lists, numpy_lists)


if __name__ == "__main__":
    main()
