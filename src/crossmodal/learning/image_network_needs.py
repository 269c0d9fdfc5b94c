"""What fits need whose methods may have an image network of their own."""

from typing import Literal, Protocol

from crossmodal.images import backbones
from crossmodal.images.prefetch import AHEAD
from crossmodal.resources.fits import training
from crossmodal.resources.needs import MB, Resources
from crossmodal.resources.networks import Workload
from crossmodal.resources.sizes import FitSize, decoding

WORKERS = 7  # decode image files; with the process that learns, a job has eight threads
WORKER = 60 * MB  # what each holds beside what it shares with that process


class Options(Protocol):
    """Options of such a method."""

    image_network: str | None
    batch: int
    captions_per_epoch: Literal["all", "one"]


def training_on_images(
    options: Options, size: FitSize, work: Workload, epochs: float, passes: float
) -> Resources:
    """See `training`; what is no image stays in main memory, from which a GPU gets that of a batch.
    Of image files, a worker has so many batches ahead, which are copied once more for a GPU.

    Args:
        options: Of the method.
        size: Size of what it learns from.
        work: Size of the network.
        epochs: Passes over the rows of an epoch.
        passes: How often each image file is decoded.
    """
    needed = training(size, work, epochs, options.batch, epoch_rows(options, size))
    if not options.image_network:
        placed = size.train["image"].bytes
        return needed.but(gpu_memory=needed.gpu_memory - size.placed + placed)
    crop = backbones.network(options.image_network).preparation.crop
    batch = 3 * crop**2 * options.batch
    seconds = passes * size.items * decoding(size.stored["image"].steps) / WORKERS
    return needed.but(
        memory=needed.memory + WORKERS * (WORKER + 2 * AHEAD * batch),
        gpu_memory=needed.gpu_memory - size.placed,
        seconds=needed.seconds + seconds,
        workers=WORKERS,
    )


def epoch_rows(options: Options, size: FitSize) -> float:
    """Pairs of an epoch."""
    return size.items if options.captions_per_epoch == "one" else size.pairs
