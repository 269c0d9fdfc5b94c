"""SISA, MISA and SIMA: images and clips compared position by position and step by step.

The image is the last maps of a CNN and a convolution, the clip a speech CNN; their matchmap makes
the score (see `crossmodal.nn.matchmap_similarity`). Source: Harwath et al., ECCV 2018 (random
impostors) and IJCV 2020 (semi-hard ones). On fc7 vectors, which have one position, SISA with clips
of unit length is the global model of Harwath et al., NIPS 2016, and of Harwath and Glass, ACL 2017.
"""

import math
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import normalize, pad

from crossmodal.data.split import Split, View
from crossmodal.device import to_device
from crossmodal.learning.method import Direction
from crossmodal.methods._speech_image import (
    Batch,
    SpeechImageMethod,
    frame_width,
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
from crossmodal.nn.scaler import Scaler
from crossmodal.nn.sequences import Sequences
from crossmodal.nn.speech import SpeechSteps
from crossmodal.pretrained import backbones

MOMENTUM = 0.9
WEIGHT_DECAY = 5e-7


class Matchmap(SpeechImageMethod):
    """A convolution over image features, a speech CNN, and the score of their matchmap."""

    class Options(SpeechImageOptions):
        similarity: Similarity = Field(description="How the matchmap is reduced to a score.")
        unit_speech: bool = Field(
            False, description="Whether the mean step of a clip has length one; only with 'sisa'."
        )
        input_norm: Literal["raw", "zscore"] = Field(
            "raw",
            description="Scaling of image features, fitted on the training split: 'raw' none, "
            "'zscore' z-scores of each channel and position; 'raw' for image files.",
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
            if self.image_network and self.input_norm != "raw":
                raise ValueError("input_norm: image files have no features to scale; set it to raw")
            if self.image_network and not backbones.network(self.image_network).maps_width:
                raise ValueError(
                    f"image_network: {self.image_network} ends in no maps; choose a convolutional "
                    "network"
                )
            return self

    image_shapes = ("maps", "vector")
    mirrors = False  # as in the released code

    def build(self, views: dict[str, View]) -> nn.Module:
        """Both encoders, as PyTorch initialises them."""
        self.check(views)
        options = self.options
        parts: dict[str, nn.Module] = {}
        bins = frame_width(views["speech"])
        parts["speech"] = SpeechSteps(options.speech_network, options.width, bins)
        if options.image_network:
            trunk = backbones.Maps(self.trunk(), options.image_network)
            parts["trunk"] = trunk.requires_grad_()
            channels = backbones.network(options.image_network).maps_width
        else:
            features = views["image"].features
            parts["scaler"] = Scaler(math.prod(features.shape[1:]), options.input_norm)
            channels = _as_maps(features).shape[1]
        kernel = options.image_kernel
        parts["image"] = MapConvolution(channels, parts["speech"].channels, kernel)
        return nn.ModuleDict(parts)

    def optimizer(self) -> torch.optim.Optimizer:
        """Of all parameters, with the released code's weight decay."""
        parameters = self.network.parameters()
        if self.options.optimizer == "adam":
            return torch.optim.Adam(parameters, weight_decay=WEIGHT_DECAY, fused=True)
        return torch.optim.SGD(parameters, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)

    def place(self, train: Split) -> None:
        """Take the statistics of the image features too."""
        super().place(train)
        if self.options.input_norm == "zscore":
            self.network["scaler"].fit(self.images.float().flatten(1))

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Steps down by epochs."""
        options = self.options
        return options.learning_rate * options.decay ** (epoch // options.decay_every)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Hinges against impostors of other images."""
        margin, similarity = self.options.margin, self.options.similarity
        images, clips, _ = batch
        negatives = to_device(images[:, None] != images)
        positions = self._positions(self._train_images(batch))
        steps, counts = self._steps(self.clips, clips)
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

    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Positions (b, l, D); for SISA their mean, (b, 1, D)."""
        return self._positions(self._scale(features))

    def embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Steps (b, t, D), NaN behind the clip's last; for SISA their mean, (b, 1, D)."""
        steps, counts = self._steps(clips, rows)
        if self.options.similarity == "sisa":
            return steps
        longest = max(1, int(clips.lengths.max()) // self._stride)
        steps = pad(steps, (0, 0, 0, max(0, longest - steps.shape[1])))[:, :longest]
        return steps.masked_fill(~steps_inside(steps, counts)[:, :, None], torch.nan)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Score (q, g) of the matchmaps."""
        swapped = direction[0] == "speech"
        images, clips = (gallery, queries) if swapped else (queries, gallery)
        positions, steps = torch.from_numpy(images), torch.from_numpy(clips)
        counts = (~steps[:, :, 0].isnan()).sum(1)
        scores = all_scores(positions, steps, counts, self.options.similarity)
        return (scores.T if swapped else scores).cpu().numpy()

    @property
    def _stride(self) -> int:
        return self.network["speech"].convolutions.stride

    def _train_images(self, batch: Batch) -> torch.Tensor:
        if self.learns_from_files:
            return self.read_random_crops(batch.crops)
        return self._scale(self.images[to_device(batch.images)])

    def _scale(self, features: torch.Tensor) -> torch.Tensor:
        if self.options.image_network:
            return features
        return self.network["scaler"](features.float().flatten(1)).view(features.shape)

    def _positions(self, features: torch.Tensor) -> torch.Tensor:
        convolution, maps = self.network["image"], _as_maps(features)
        if self.options.similarity == "sisa":
            return convolution.mean(maps)[:, None]
        return convolution(maps)

    def _steps(self, clips: Sequences, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        steps, counts = self.network["speech"](*self.pad(clips, rows))
        steps, counts = pool_steps(steps, counts, self.options.similarity)
        if self.options.unit_speech:
            steps = normalize(steps, dim=2)
        return steps, counts.to(steps.device)


def _as_maps(features: np.ndarray | torch.Tensor) -> np.ndarray | torch.Tensor:
    """Maps as they are; vectors (n, d) as maps of one position, (n, d, 1, 1)."""
    return features if features.ndim == 4 else features[:, :, None, None]
