"""What fits need whose methods learn from images and spoken captions."""

from crossmodal.images import backbones
from crossmodal.images.prefetch import AHEAD
from crossmodal.learning.speech_image_options import SpeechImageOptions
from crossmodal.resources.fits import training
from crossmodal.resources.needs import MB, Resources
from crossmodal.resources.networks import SPEECH_NETWORKS, Workload
from crossmodal.resources.sizes import FitSize, decoding

WORKERS = 7  # decode image files; with the process that learns, a job has eight threads
WORKER = 60 * MB  # what each holds beside what it shares with that process


def encoders(options: SpeechImageOptions, size: FitSize) -> Workload:
    """Clips through the speech network: parameters and products of a frame at full width, which
    fall with its square; and, of image files, the image network.
    """
    o = options
    network = SPEECH_NETWORKS[o.speech_network]
    frames = min(o.max_frames, 1.5 * size.stored["speech"].steps) if o.trim else o.max_frames
    work = Workload(
        network.parameters * o.width**2,
        network.units * o.width * frames,
        network.products * o.width**2 * frames,
    )
    return work + backbones.network(o.image_network).work if o.image_network else work


def training_on_clips(
    options: SpeechImageOptions, size: FitSize, work: Workload, epochs: float, passes: float
) -> Resources:
    """See `training`; clips and transcripts stay in main memory, from which a GPU gets those of a
    batch. Of image files, a worker has so many batches ahead, which are copied once more for a GPU.

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


def epoch_rows(options: SpeechImageOptions, size: FitSize) -> float:
    """Pairs of an epoch."""
    return size.items if options.captions_per_epoch == "one" else size.pairs
