"""VASE: images, speech and, only in training, its transcripts in one space.

    L = sum over pairs of modalities P, Q of R(P, Q) + lambda C

R is the sum of ranking hinges over the batch (equations 7 to 10, see `crossmodal.nn.losses`), C the
cycle loss of all modalities (equations 11 to 30, see `crossmodal.nn.cycle_loss`). Without a view
of texts this is VASE (2-stream); with lambda = 0, base or base+aux. With images as features it is
the paper's first phase; with image files fine-tuning follows, in which the image network learns
too.
Source: Cheng et al., IEEE TMM 2022, doi 10.1109/TMM.2022.3171090; where it is silent, the settings
of VSE++, whose defaults it shares.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import ClassVar, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.methods._speech_image import (
    ClipEncoder,
    caption_owners,
    check_views,
    frame_width,
    image_encoder,
    shapes_taken,
)
from crossmodal.methods._speech_image_options import SpeechImageOptions
from crossmodal.nn.captions import CaptionEncoder, pack
from crossmodal.nn.cycle_loss import cycle_loss
from crossmodal.nn.losses import ranking_loss
from crossmodal.nn.onednn import Linear
from crossmodal.nn.precision import compute_in
from crossmodal.nn.sequences import Sequences
from crossmodal.nn.speech import SpeechEncoder
from crossmodal.plugin import Count, NotNegative, Positive
from crossmodal.pretrained import backbones
from crossmodal.training.distributed import in_shares
from crossmodal.training.gradient import GradientMethod
from crossmodal.training.image_encoder import ImageFiles
from crossmodal.training.pairs import Batch
from crossmodal.training.schedule import Phase, Schedule

DECAY = 0.1  # of the learning rate


class VASE(GradientMethod[Batch]):
    """A linear map of image features, DAVEnet with a BiGRU for speech, a GRU for transcripts."""

    class Options(SpeechImageOptions):
        dims: int = Field(gt=0, multiple_of=2, description="Dimensions d of the shared space.")
        recurrent_layers: Count = Field(
            description="Layers of the BiGRU; the paper's text says 1, its parameter counts 2."
        )
        word_dims: Count = Field(description="Dimensions of the word embedding.")
        cycle_weight: NotNegative = Field(
            description="Weight lambda of the cycle loss; 0 is base, with texts base+aux."
        )
        inverse_temperature: NotNegative = Field(
            description="Inverse temperature beta of the cycle loss."
        )
        cycle_of_unit_rows: bool = Field(
            True,
            description="Whether the cycle loss sees the embeddings after their normalisation.",
        )
        first_cosine: bool = Field(
            True,
            description="Compare the embeddings by their cosine, not inner product; unit rows have "
            "the same.",
        )
        finetuning_rate: Positive | None = Field(
            None, description="Learning rate while the image network learns; null leaves it frozen."
        )
        clip: Positive = Field(2.0, description="Largest L2 norm of all gradients together.")
        finetuning_epochs: Count = Field(
            description="Passes over the training split while the image network learns."
        )
        reads_padding: bool = Field(
            False,
            description="Whether the BiGRU reads the padding too, as the paper's text has it; else "
            "only the steps of the clip.",
        )

        @model_validator(mode="after")
        def _check(self) -> Self:
            if self.finetuning_rate and not self.image_network:
                raise ValueError(
                    "finetuning_rate: needs an image_network; set one, or this to null"
                )
            if self.reads_padding and self.trim:
                raise ValueError("reads_padding: needs clips of one length; set trim to false")
            return self

    options: Options
    task = "instance"
    distributed = True
    further: ClassVar = {"text": ("sequence",)}
    network: nn.ModuleDict

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.images = image_encoder(self.options, mirrors=True, stores_crops=True)
        self.speech: ClipEncoder[torch.Tensor] = ClipEncoder(self.options)
        self.takes = shapes_taken(self.options, ("vector",))
        self.weights, self.threads = self.images.weights, self.images.threads

    @property
    def schedule(self) -> Schedule:
        """The image network is frozen in the first phase and learns in the second."""
        o = self.options
        phases = [Phase(o.epochs, o.learning_rate)]
        if o.finetuning_rate:
            phases.append(Phase(o.finetuning_epochs, o.finetuning_rate))
        return Schedule(tuple(phases), DECAY, o.decay_every, o.clip)

    def build(self, views: dict[str, View]) -> nn.ModuleDict:
        """Make all encoders; linear maps Glorot-uniform with zero biases, as in VSE++."""
        o = self.options
        check_views(views, o.image_network, self.further)
        parts: dict[str, nn.Module] = {}
        if isinstance(self.images, ImageFiles):
            parts["trunk"] = self.images.build(backbones.Vectors, self.run)
            width = self.images.facts.width
        else:
            width = views["image"].vectors().shape[1]
        parts["image"] = image = Linear(width, o.dims)
        speech = SpeechEncoder(
            o.speech_network,
            o.dims,
            o.width,
            o.recurrent_layers,
            o.reads_padding,
            frame_width(views["speech"]),
        )
        self.speech.network = parts["speech"] = speech
        maps = [image, speech.project]
        if "text" in views:
            words = len(views["text"].meta["vocabulary"])
            maps.append(Linear(o.dims, o.dims))
            parts["text"] = nn.Sequential(CaptionEncoder(words, o.word_dims, o.dims), maps[-1])
        for layer in maps:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        compute_in(o.precision, *parts.values())
        return nn.ModuleDict(parts)

    def optimizer(self) -> torch.optim.Optimizer:
        """Make Adam without weight decay; of the image network only in the second phase."""
        if isinstance(self.images, ImageFiles):
            self.images.learn(self.phase == 1)
        return torch.optim.Adam(self.trainable(), fused=True)

    def place(self, train: Split) -> None:
        """Keep images, clips and, where there are any, a transcript of each clip."""
        self.owners = caption_owners(train)
        self.images.place(train.views["image"])
        self.speech.place(train.views["speech"])
        self.texts = train.views["text"].sequences() if "text" in train.views else None
        self.cosines: list[torch.Tensor] = []  # of the present epoch
        if self.texts is not None and train.views["text"].ids != train.views["speech"].ids:
            raise CrossmodalError(
                "view 'text': its rows are other captions than those of view 'speech'; the "
                "method needs the transcript of every clip and no other text"
            )

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Return shuffled pairs."""
        return self.images.with_crops(self.speech.draw_pairs(self.owners, rng), rng)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return ranking and cycle loss of a batch of pairs."""
        o, clips, rows = self.options, self.speech.clips, batch.captions
        frames = self.speech.padded_size(clips, rows)
        encoders = [
            lambda part: self._map_images(self.images.features(batch, part)),
            lambda part: self.speech(clips, rows[part], frames),
        ]
        if (texts := self.texts) is not None:
            encoders.append(lambda part: self._map_texts(texts, rows[part]))
        mapped = [in_shares(encoder, len(rows)) for encoder in encoders]
        unit = [normalize(x) for x in mapped]
        self._log_cosines(unit[0] @ unit[1].T)
        ranking = sum(ranking_loss(p @ q.T, o.margin) for p, q in combinations(unit, 2))
        cycled = unit if o.cycle_of_unit_rows else mapped
        return ranking + o.cycle_weight * cycle_loss(cycled, o.inverse_temperature, o.first_cosine)

    def validate(self, validation: Split) -> dict[str, float]:
        """Return rsum, without the mAP of labels, which takes longer."""
        return super().validate(replace(validation, labels=validation.labels[:, :0]))

    def _log_cosines(self, scores: torch.Tensor) -> None:
        """Log the mean cosine of the pairs and of all others, from all cosines (b, b)."""
        scores, count = scores.detach(), len(scores)
        others = (scores.sum() - scores.trace()) / (count * (count - 1))
        self.cosines.append(torch.stack([scores.trace() / count, others]))

    def log(self) -> dict[str, float]:
        """Return the phase, and mean cosines of images and clips: equal after a collapse."""
        positives, negatives = torch.stack(self.cosines).mean(0).tolist()
        self.cosines.clear()
        return {"phase": self.phase, "positives": positives, "negatives": negatives}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return unit rows (b, d) of images or clips."""
        if modality == "speech":
            return [self.speech.embed(view, self._embed_clips)]
        return (normalize(self._map_images(x)) for x in self.images.read(view))

    def _embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        return normalize(self.speech(clips, rows))

    def _map_images(self, features: torch.Tensor) -> torch.Tensor:
        return self.network["image"](normalize(features.float()))  # zeros stay zeros

    def _map_texts(self, texts: Ragged, rows: np.ndarray) -> torch.Tensor:
        return self.network["text"](pack(texts, rows))
