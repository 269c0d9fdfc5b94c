"""SISA, MISA and SIMA: images and clips compared position by position and step by step.

The image is the last maps of a CNN and a convolution, the clip a speech CNN; their matchmap makes
the score (see `crossmodal.nn.matchmap_similarity`). Source: Harwath et al., ECCV 2018 (random
impostors) and IJCV 2020 (semi-hard ones). On fc7 vectors, which have one position, SISA with clips
of unit length is the global model of Harwath et al., NIPS 2016, and of Harwath and Glass, ACL 2017.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import normalize, pad

from crossmodal.data.split import Split, View
from crossmodal.device import to_device
from crossmodal.learning.method import Direction
from crossmodal.learning.scaling_layer import ScalingLayer
from crossmodal.methods._speech_image import (
    ClipEncoder,
    caption_owners,
    check_views,
    frame_width,
    image_encoder,
    shapes_taken,
)
from crossmodal.methods._speech_image_options import SpeechImageOptions
from crossmodal.nn.losses import draw_impostors, impostor_loss, semi_hard_loss
from crossmodal.nn.map_convolution import MapConvolution
from crossmodal.nn.matchmap_similarity import (
    Similarity,
    all_scores,
    paired_scores,
    pool_steps,
    steps_inside,
)
from crossmodal.nn.precision import compute_in
from crossmodal.nn.sequences import Sequences
from crossmodal.nn.speech import SpeechSteps
from crossmodal.pretrained import backbones
from crossmodal.pretrained.initial_weights import load_network
from crossmodal.pretrained.weights import Bundle
from crossmodal.training.gradient import GradientMethod
from crossmodal.training.image_encoder import ImageFiles, ImageRows
from crossmodal.training.pairs import Batch
from crossmodal.training.schedule import Phase, Schedule

MOMENTUM = 0.9
WEIGHT_DECAY = 5e-7

Steps = tuple[torch.Tensor, torch.Tensor]  # of clips, and their counts


class Matchmap(GradientMethod[Batch]):
    """A convolution over image features, a speech CNN, and the score of their matchmap."""

    class Options(SpeechImageOptions):
        similarity: Similarity = Field(description="How the matchmap is reduced to a score.")
        unit_speech: bool = Field(
            False, description="Whether the mean step of a clip has length one; only with 'sisa'."
        )
        scaling: Literal["raw", "zscore"] = Field(
            "raw",
            description="Scaling of image features, fitted on the training split: 'raw' none, "
            "'zscore' z-scores of each channel and position; 'raw' for image files.",
        )
        initial_weights: Bundle | None = Field(
            None,
            description="A file in data/raw/weights/, or ORG--NAME.safetensors of the Hugging Face "
            "hub, with all tensors of the network under this method's names, such as a model that "
            "was fitted elsewhere; training begins with them. image_weights is 'random' then.",
        )
        image_kernel: Literal[1, 3] = Field(
            description="Side of the convolution over the image's positions."
        )
        impostors: Literal["random", "semi-hard"] = Field(
            "random", description="'random': drawn at random; 'semi-hard': the semi-hard ones too."
        )
        optimizer: Literal["sgd", "adam"] = Field(
            "sgd", description="'sgd' with momentum 0.9, or 'adam'."
        )
        decay: float = Field(gt=0, le=1, description="Factor of the learning rate when it falls.")

        @model_validator(mode="after")
        def _check(self) -> Self:
            if self.unit_speech and self.similarity != "sisa":
                raise ValueError("unit_speech: only with similarity sisa; set it to false")
            if self.initial_weights and self.image_network and self.image_weights != "random":
                raise ValueError(
                    "initial_weights: have the image network's, too; set image_weights to random"
                )
            if self.image_network and self.scaling != "raw":
                raise ValueError("scaling: image files have no features to scale; set it to raw")
            if self.image_network and not backbones.network(self.image_network).maps_width:
                raise ValueError(
                    f"image_network: {self.image_network} ends in no maps; choose a convolutional "
                    "network"
                )
            return self

    options: Options
    task = "instance"
    network: nn.ModuleDict

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.images = image_encoder(self.options, mirrors=False)  # as in the released code
        self.speech: ClipEncoder[Steps] = ClipEncoder(self.options)
        self.takes = shapes_taken(self.options, ("maps", "vector"))
        self.weights = self.options.initial_weights or self.images.weights
        self.threads = self.images.threads

    @property
    def schedule(self) -> Schedule:
        """One phase, whose rate steps down by epochs."""
        o = self.options
        return Schedule((Phase(o.epochs, o.learning_rate),), o.decay, o.decay_every)

    def build(self, views: dict[str, View]) -> nn.ModuleDict:
        """Make both encoders, as PyTorch initialises them."""
        o = self.options
        check_views(views, o.image_network)
        speech = SpeechSteps(o.speech_network, o.width, frame_width(views["speech"]))
        self.speech.network, self.stride = speech, speech.convolutions.stride
        self.scaler: ScalingLayer | None = None
        parts: dict[str, nn.Module] = {"speech": speech}
        if isinstance(self.images, ImageFiles):
            run = replace(self.run, weights=None) if o.initial_weights else self.run
            parts["trunk"] = self.images.build(backbones.Maps, run)
            self.images.learn(True)
            channels = self.images.facts.maps_width
        else:
            shape = views["image"].vectors().shape[1:]
            parts["scaler"] = self.scaler = ScalingLayer(math.prod(shape), o.scaling)
            channels = shape[0]
        parts["image"] = self.convolution = MapConvolution(
            channels, speech.channels, o.image_kernel
        )
        trunk = [parts["trunk"]] if "trunk" in parts else []
        compute_in(o.precision, speech.convolutions, *trunk)
        network = nn.ModuleDict(parts)
        if o.initial_weights and self.run.weights:
            load_network(network, self.run.weights)
        return network

    def optimizer(self) -> torch.optim.Optimizer:
        """Make the optimiser of all parameters, with the released code's weight decay."""
        parameters = self.network.parameters()
        if self.options.optimizer == "adam":
            return torch.optim.Adam(parameters, weight_decay=WEIGHT_DECAY, fused=True)
        return torch.optim.SGD(parameters, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)

    def place(self, train: Split) -> None:
        """Keep images and clips; take the statistics of image features."""
        self.owners = caption_owners(train)
        self.images.place(train.views["image"])
        self.speech.place(train.views["speech"])
        zscore = self.options.scaling == "zscore"
        if zscore and self.scaler is not None and isinstance(self.images, ImageRows):
            self.scaler.fit(self.images.rows.float().flatten(1))

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Return shuffled pairs."""
        return self.images.with_crops(self.speech.draw_pairs(self.owners, rng), rng)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the hinges against impostors of other images."""
        margin, similarity = self.options.margin, self.options.similarity
        negatives = to_device(batch.images[:, None] != batch.images)
        positions = self._positions(self.images.features(batch))
        steps, counts = self._steps(self.speech.clips, batch.captions)
        i, j = (draw_impostors(negatives) for _ in range(2))
        loss = impostor_loss(
            paired_scores(positions, steps, counts, similarity),
            paired_scores(positions[i], steps, counts, similarity),
            paired_scores(positions, steps[j], counts[j], similarity),
            margin,
        )
        if self.options.impostors == "semi-hard":
            every = all_scores(positions, steps, counts, similarity)
            loss = loss + semi_hard_loss(every, margin, negatives)
        return loss

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return positions (b, l, D) of images or steps (b, t, D) of clips; of SISA their mean."""
        if modality == "speech":
            return [self.speech.embed(view, self._embed_clips)]
        return map(self._positions, self.images.read(view))

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return the scores (q, g) of the matchmaps."""
        swapped = direction[0] == "speech"
        images, clips = (gallery, queries) if swapped else (queries, gallery)
        positions, steps = torch.from_numpy(images), torch.from_numpy(clips)
        counts = (~steps[:, :, 0].isnan()).sum(1)
        scores = all_scores(positions, steps, counts, self.options.similarity)
        return (scores.T if swapped else scores).cpu().numpy()

    def _embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Return steps (b, t, D), NaN behind the clip's last; of SISA their mean, (b, 1, D)."""
        steps, counts = self._steps(clips, rows)
        if self.options.similarity == "sisa":
            return steps
        longest = max(1, int(clips.lengths.max()) // self.stride)
        steps = pad(steps, (0, 0, 0, max(0, longest - steps.shape[1])))[:, :longest]
        return steps.masked_fill(~steps_inside(steps, counts)[:, :, None], torch.nan)

    def _positions(self, features: torch.Tensor) -> torch.Tensor:
        """Return positions (b, l, D) of image features; vectors are maps of one position."""
        if self.scaler is not None:
            features = self.scaler(features.float().flatten(1)).view(features.shape)
        maps = features if features.ndim == 4 else features[:, :, None, None]
        if self.options.similarity == "sisa":
            return self.convolution.mean(maps)[:, None]
        return self.convolution(maps)

    def _steps(self, clips: Sequences, rows: np.ndarray) -> Steps:
        steps, counts = self.speech(clips, rows)
        steps, counts = pool_steps(steps, counts, self.options.similarity)
        if self.options.unit_speech:
            steps = normalize(steps, dim=2)
        return steps, counts.to(steps.device)
