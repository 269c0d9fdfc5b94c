"""Options of all methods on images and spoken captions."""

from typing import Literal

from pydantic import Field

from crossmodal.nn.precision import Precision
from crossmodal.nn.speech import SpeechNetwork
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.pretrained import backbones
from crossmodal.pretrained.weights import Weights

STRIDE = 16  # of the networks that read speech; frames are padded to a multiple


class SpeechImageOptions(Strict):
    """Options of all methods on images and clips."""

    speech_network: SpeechNetwork = Field(description="The CNN that reads speech.")
    width: Positive = Field(
        1.0, description="Multiplier of the speech network's channels, 1 in the papers."
    )
    image_network: backbones.Name | None = Field(
        None, description="The CNN that reads image files; null if images are features."
    )
    image_weights: Weights = Field(
        "imagenet",
        description="'imagenet' (the official ones), 'random', or a file in data/raw/weights/.",
    )
    margin: NotNegative = Field(description="Margin of the hinges, in units of the score.")
    learning_rate: Positive = Field(description="Initial learning rate of the optimiser.")
    decay_every: Count = Field(
        description="Number of epochs after which the learning rate falls, each time."
    )
    batch: int = Field(gt=1, description="Pairs that are negatives of each other.")
    epochs: Count = Field(description="Passes over the training split; in VASE of its first phase.")
    captions_per_epoch: Literal["all", "one"] = Field(
        "all", description="All captions of an image, or a random one."
    )
    max_frames: int = Field(
        2048,
        gt=0,
        multiple_of=STRIDE,
        description="Maximum length of a clip, in frames of 10 ms; longer ones are cut.",
    )
    trim: bool = Field(
        description="Pad a batch to its longest clip, not to max_frames: faster, not bit-identical."
    )
    similar_lengths: bool = Field(
        False,
        description="Whether the clips of a batch have similar lengths: less padding, but "
        "negatives that are more alike.",
    )
    padding: float = Field(
        0.0,
        ge=-80,
        le=0,
        description="Level of the frames behind a clip, in dB below its loudest value: 0, as in "
        "the released code of DAVEnet, or that of silence, -80.",
    )
    precision: Precision = "float32"
