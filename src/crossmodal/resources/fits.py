"""Formulas that families of methods share: what one fit needs."""

from crossmodal.resources.needs import INTERPRETER, START, Resources
from crossmodal.resources.networks import Workload
from crossmodal.resources.sizes import FitSize

ROWS_PER_BLOCK = 4096  # of features, read at a time


def fit(
    size: FitSize, base: float, own: float, operations: float, disk: float, scorings: int = 1
) -> Resources:
    """What a fit needs that holds its training and validation rows all the time.

    Args:
        size: Size of what it learns from.
        base: Bytes of the process before it reads anything.
        own: Bytes that the method holds besides the rows, at the peak.
        operations: Floating-point operations.
        disk: Bytes of the model.
        scorings: How often the validation split is scored.
    """
    splits = ("train", "validation")
    return Resources(
        base + size.held(*splits) + max(own, size.scoring),
        operations,
        START + scorings * size.scoring_time,
        disk=disk,
    )


def closed_form(size: FitSize, matrices: float, passes: float = 1, extra: float = 0) -> Resources:
    """What a method needs that solves a problem of second moments, in D columns of n pairs:

        memory = base + held + 8 (matrices D^2 + 3 D rows of a block) + extra
        operations = passes 2 n D^2 + 25 D^3

    Args:
        size: Size of what it learns from; D is the sum of the widths of its views.
        matrices: Float64 matrices of D^2 numbers at the peak.
        passes: Passes over the rows.
        extra: Further bytes.
    """
    width = size.width
    solving = 8 * width * (matrices * width + 3 * min(ROWS_PER_BLOCK, size.pairs)) + extra
    operations = 2 * passes * size.pairs * width**2 + 25 * width**3
    return fit(size, INTERPRETER, solving, operations, 800 * width)


def training(
    size: FitSize,
    work: Workload,
    epochs: float,
    batch: int,
    rows: float | None = None,
    copies: float = 0,
) -> Resources:
    """What the training of a network needs, see `crossmodal.learning.gradient`; P parameters, s
    numbers of the optimiser for each, b rows of a batch with u numbers of each:

        memory = base + held + copies + 4 P (3 + s) + 8 b u
        GPU memory = rows but those of image files + copies + 4 P (3 + s) + 8 b u
        operations = 6 products for each row of each epoch

    The 3 are weights, gradients and best weights; with a GPU, main memory holds weights, best
    weights and the optimiser's numbers while a snapshot is saved, but no batch.

    Args:
        size: Size of what it learns from.
        work: Size of the network.
        epochs: Passes over the rows, and scorings of the validation split.
        batch: Rows of a step.
        rows: Rows of an epoch; all pairs if None.
        copies: Bytes of what is held besides, such as copies of the training rows.
    """
    rows = size.pairs if rows is None else rows
    batch_bytes = 8 * batch * work.units
    state = 4 * (work.parameters * (3 + work.slots) + work.frozen)
    needed = fit(
        size,
        INTERPRETER,
        copies + state + batch_bytes,
        6 * work.products * rows * epochs,
        4 * work.parameters,
        int(epochs),
    )
    gpu_memory = size.placed + copies + state + batch_bytes
    return needed.but(gpu=1, gpu_memory=gpu_memory, moved=batch_bytes)


def staged(size: FitSize, stages: list[tuple[Workload, int, float]], batch: int) -> Resources:
    """What stages need that are trained one after the other on the pairs, see `training`.

    Args:
        size: Size of what the method learns from.
        stages: Of each its network, its steps, and how many numbers it passes on of each pair.
        batch: Pairs of a step.
    """
    every = sum((work for work, _, _ in stages), Workload())
    passed = 4 * size.pairs * max(numbers for _, _, numbers in stages)
    steps = sum(count for _, count, _ in stages)
    products = sum(work.products * count for work, count, _ in stages) / steps
    work = every.but(products=products, units=max(w.units for w, _, _ in stages))
    epochs = steps * min(batch, size.pairs) / size.pairs
    return training(size, work, epochs, batch, copies=size.repeated + passed)


def scaled_bytes(size: FitSize, energy: float | None) -> float:
    """Bytes at the peak of scaling the training rows to float32: these, and five blocks of them; or
    with PCA, which keeps about a third of the columns, five matrices of it.
    """
    numbers = sum(rows.count * rows.width for rows in size.train.values())
    width = max(rows.width for rows in size.train.values())
    blocks = 5 * 4 * min(ROWS_PER_BLOCK, size.pairs) * width
    return 4 * numbers + blocks if energy is None else 4 / 3 * numbers + max(blocks, 40 * width**2)
