"""What fits need whose methods learn from images and spoken captions."""

from crossmodal.images import backbones
from crossmodal.images.prefetch import AHEAD
from crossmodal.learning.speech_image_options import SpeechImageOptions
from crossmodal.resources.needs import MB, Resources
from crossmodal.resources.networks import IMAGE_NETWORKS, SPEECH_NETWORKS, Workload
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
    return work + IMAGE_NETWORKS[o.image_network] if o.image_network else work


def fed(options: SpeechImageOptions, needs: Resources, size: FitSize, passes: float) -> Resources:
    """The same with what it takes to decode image files: a worker has so many batches ahead,
    which are copied once more for a GPU.

    Args:
        options: Of the method.
        needs: Of a fit to which all that it learns from is at hand.
        size: Size of what it learns from.
        passes: How often each training image is decoded.
    """
    if not options.image_network:
        return needs
    crop = backbones.NETWORKS[options.image_network].preparation.crop
    batch = 3 * crop**2 * options.batch
    seconds = passes * size.items * decoding(size.stored["image"].steps) / WORKERS
    return needs.but(
        memory=needs.memory + WORKERS * (WORKER + 2 * AHEAD * batch),
        seconds=needs.seconds + seconds,
        workers=WORKERS,
    )
