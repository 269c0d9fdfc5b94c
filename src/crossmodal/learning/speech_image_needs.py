"""What the encoders of methods on images and spoken captions need."""

from crossmodal.images import backbones
from crossmodal.learning.speech_image_options import SpeechImageOptions
from crossmodal.resources.networks import SPEECH_NETWORKS, Workload
from crossmodal.resources.sizes import FitSize


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
