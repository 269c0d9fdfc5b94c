"""SISA, MISA and SIMA: images and clips compared place by place and step by step.

The image is the last maps of a CNN and a convolution, the clip a speech CNN; their matchmap makes
the score (see `crossmodal.matchmaps`). Source: Harwath et al., ECCV 2018 (random impostors) and
IJCV 2020 (semi-hard ones). On fc7 vectors, an image of one place, SISA with clips of unit length
is the global model of Harwath et al., NIPS 2016, and of Harwath and Glass, ACL 2017.
"""

import math
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize, pad

from crossmodal import backbones
from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.encoders.scaler import Scaler
from crossmodal.encoders.sequences import Sequences
from crossmodal.encoders.speech import SpeechNetwork, SpeechSteps
from crossmodal.losses import draw_impostors, impostor_loss, semi_hard_loss
from crossmodal.matchmaps import (
    Similarity,
    all_scores,
    paired_scores,
    pool_places,
    pool_steps,
    steps_inside,
)
from crossmodal.methods.base import Direction
from crossmodal.pictures import Pictures
from crossmodal.speech_image import (
    Batch,
    BatchSize,
    CaptionsPerEpoch,
    Decibels,
    Frames,
    Images,
    Positive,
    Rate,
    SpeechImageMethod,
)

MOMENTUM = 0.9
WEIGHT_DECAY = 5e-7


class Matchmap(SpeechImageMethod):
    """A convolution over image features, a speech CNN, and the score of their matchmap.

    Args:
        similarity: How the matchmap makes a score.
        speech_network: The CNN that reads speech; its channels are the shared space.
        width: Multiplier of its channels, 1 in the papers.
        unit_speech: Whether the mean step of a clip has length one; with SISA alone.
        image_network: The CNN that reads image files, and learns; null if images are features.
        image_weights: 'imagenet' (torchvision's first), 'random', or a file in `data/raw/weights/`.
        input_norm: Scaling of image features, fitted on the training split: as they are, or
            z-scores of each channel and place; image files have none.
        image_kernel: Side of the convolution over the image's places.
        margin: a.
        impostors: Drawn at random, or besides these the semi-hard ones.
        optimizer: With momentum 0.9, or Adam.
        learning_rate: Of the optimiser.
        decay: Factor of the learning rate.
        decay_every: After so many epochs each.
        batch: Pairs that are impostors of each other.
        accumulate: Batches per step.
        epochs: Passes over the training split.
        captions_per_epoch: All captions of an image, or a random one.
        max_frames: Clips are cut here; 10 ms each.
        trim: Pad a batch to its longest clip, not to `max_frames`: faster, not bit-identical.
        padding: Level of the frames behind a clip, in dB below its loudest value: 0, as in the
            released code of DAVEnet, or that of silence, -80.
    """

    def __init__(
        self,
        similarity: Similarity,
        speech_network: SpeechNetwork,
        width: Rate,
        unit_speech: bool,
        image_network: backbones.Name | None,
        image_weights: backbones.Weights,
        input_norm: Literal["raw", "zscore"],
        image_kernel: Literal[1, 3],
        margin: Annotated[float, Field(ge=0)],
        impostors: Literal["random", "semi-hard"],
        optimizer: Literal["sgd", "adam"],
        learning_rate: Rate,
        decay: Annotated[float, Field(gt=0, le=1)],
        decay_every: Positive,
        batch: BatchSize,
        accumulate: Positive,
        epochs: Positive,
        captions_per_epoch: CaptionsPerEpoch,
        max_frames: Frames,
        trim: bool,
        padding: Decibels,
    ) -> None:
        if unit_speech and similarity != "sisa":
            raise ValueError("unit_speech: only with similarity sisa; set it to false")
        if image_network and input_norm != "raw":
            raise ValueError("input_norm: image files have no features to scale; set it to raw")
        self.similarity, self.unit_speech = similarity, unit_speech
        self.speech_network, self.width = speech_network, width
        self.image_network, self.image_kernel = image_network, image_kernel
        self.input_norm = input_norm
        if image_network:
            self.weights = backbones.weights_file(image_network, image_weights)
        self.margin, self.impostors = margin, impostors
        self.kind, self.rate = optimizer, learning_rate
        self.decay, self.decay_every = decay, decay_every
        self.batch, self.accumulate, self.epochs = batch, accumulate, epochs
        self.captions_per_epoch = captions_per_epoch
        self.max_frames, self.trim, self.padding = max_frames, trim, padding

    def build(self, views: dict[str, View]) -> nn.Module:
        """Both encoders, as PyTorch initialises them."""
        self.check(views)
        parts: dict[str, nn.Module] = {}
        parts["speech"] = SpeechSteps(self.speech_network, self.width)
        if self.image_network:
            trunk = backbones.Maps(self.trunk(), self.image_network)
            parts["trunk"] = trunk.requires_grad_()
            channels = backbones.NETWORKS[self.image_network].maps_width
        else:
            features = views["image"].features
            parts["scaler"] = Scaler(math.prod(features.shape[1:]), self.input_norm)
            channels = _as_maps(features).shape[1]
        parts["image"] = nn.Conv2d(
            channels, parts["speech"].channels, self.image_kernel, padding=self.image_kernel // 2
        )
        return nn.ModuleDict(parts)

    def optimizer(self) -> torch.optim.Optimizer:
        """Of all parameters, with the released code's weight decay."""
        parameters = self.network.parameters()
        if self.kind == "adam":
            return torch.optim.Adam(parameters, self.rate, weight_decay=WEIGHT_DECAY, fused=True)
        return torch.optim.SGD(parameters, self.rate, MOMENTUM, weight_decay=WEIGHT_DECAY)

    def place(self, train: Split) -> None:
        """Take the statistics of the image features too."""
        super().place(train)
        if self.input_norm == "zscore":
            self.network["scaler"].fit(self.images.float().flatten(1))

    def learning_rate(self, epoch: int, step: int) -> float:
        """Steps down by epochs."""
        return self.rate * self.decay ** (epoch // self.decay_every)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Hinges against impostors of other images."""
        images, clips = batch
        negatives = torch.from_numpy(images[:, None] != images).to(device())
        places = self._places(self._train_images(images))
        steps, counts = self._steps(self.clips, clips)
        i, j = (draw_impostors(negatives) for _ in range(2))
        loss = impostor_loss(
            paired_scores(places, steps, counts, self.similarity),
            paired_scores(places[i], steps, counts, self.similarity),
            paired_scores(places, steps[j], counts[j], self.similarity),
            self.margin,
        )
        if self.impostors == "semi-hard":
            every = all_scores(places, steps, counts, self.similarity)
            loss = loss + semi_hard_loss(every, self.margin, negatives)
        return loss

    def embed_images(self, images: Images, rows: np.ndarray) -> torch.Tensor:
        """Places (b, l, D); for SISA their mean, (b, 1, D)."""
        if isinstance(images, Pictures):
            return self._places(self.run_trunk(images.crops(rows, 1)[0]))
        return self._places(self._scale(images[rows]))

    def embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Steps (b, t, D), NaN behind the clip's last; for SISA their mean, (b, 1, D)."""
        steps, counts = self._steps(clips, rows)
        if self.similarity == "sisa":
            return steps
        longest = max(1, int(clips.lengths.max()) // self._stride)
        steps = pad(steps, (0, 0, 0, max(0, longest - steps.shape[1])))[:, :longest]
        return steps.masked_fill(~steps_inside(steps, counts)[:, :, None], torch.nan)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Score (q, g) of the matchmaps."""
        swapped = direction[0] == "speech"
        images, clips = (gallery, queries) if swapped else (queries, gallery)
        places, steps = (torch.from_numpy(x).to(device()) for x in (images, clips))
        counts = (~steps[:, :, 0].isnan()).sum(1)
        scores = all_scores(places, steps.nan_to_num(), counts, self.similarity)
        return (scores.T if swapped else scores).cpu().numpy()

    @property
    def _stride(self) -> int:
        return self.network["speech"].convolutions.stride

    def _train_images(self, rows: np.ndarray) -> torch.Tensor:
        """Features as they are; of files a new crop, not mirrored, as in the released code."""
        if isinstance(self.images, Pictures):
            return self.run_trunk(self.images.random_crops(rows, mirror=False))
        return self._scale(self.images[rows])

    def _scale(self, features: torch.Tensor) -> torch.Tensor:
        return self.network["scaler"](features.float().flatten(1)).view(features.shape)

    def _places(self, features: torch.Tensor) -> torch.Tensor:
        maps = self.network["image"](_as_maps(features))  # (b, D, h, w)
        return pool_places(maps.flatten(2).transpose(1, 2), self.similarity)

    def _steps(self, clips: Sequences, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        steps, counts = pool_steps(*self.network["speech"](*self.pad(clips, rows)), self.similarity)
        return (normalize(steps, dim=2) if self.unit_speech else steps), counts.to(steps.device)


def _as_maps(features: np.ndarray | torch.Tensor) -> np.ndarray | torch.Tensor:
    """Maps as they are; vectors (n, d) as maps of one place, (n, d, 1, 1)."""
    return features if features.ndim == 4 else features[:, :, None, None]
