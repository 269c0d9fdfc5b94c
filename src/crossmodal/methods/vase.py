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

from itertools import combinations
from typing import ClassVar, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import to_device
from crossmodal.errors import CrossmodalError
from crossmodal.io.snapshots import computed_once
from crossmodal.methods._speech_image import (
    ROWS,
    Batch,
    SpeechImageMethod,
    frame_width,
)
from crossmodal.methods._speech_image_options import SpeechImageOptions
from crossmodal.nn.captions import CaptionEncoder, pack
from crossmodal.nn.cycle_loss import cycle_loss
from crossmodal.nn.losses import ranking_loss
from crossmodal.nn.onednn import Linear
from crossmodal.nn.sequences import Sequences
from crossmodal.nn.speech import SpeechEncoder
from crossmodal.plugin import Count, NotNegative, Positive
from crossmodal.pretrained import backbones
from crossmodal.training.distributed import in_shares
from crossmodal.training.fine_tuning import FineTuning
from crossmodal.training.processes import first_alone

CROPS = 10  # of each image, kept while the image network is frozen


class VASE(FineTuning, SpeechImageMethod):
    """A linear map of image features, DAVEnet with a BiGRU for speech, a GRU for transcripts."""

    class Options(SpeechImageOptions):
        dims: int = Field(gt=0, multiple_of=2, description="Dimensions d of the shared space.")
        recurrent_layers: Count = Field(
            description="Layers of the BiGRU; the paper's text says 1, its parameter counts 2."
        )
        word_dims: Count = Field(description="Dimensions of the word embedding.")
        same_image_negatives: bool = Field(
            True, description="Whether captions of one image are negatives of each other."
        )
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
        second_cosine: bool = Field(
            False,
            description="Compare the first reconstructions by their cosine, not inner product.",
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

    distributed = True
    mirrors = True
    further: ClassVar = {"text": ("sequence",)}

    @property
    def learns_from_files(self) -> bool:
        """Only in the second phase; in the first, crops of each image are kept."""
        return super().learns_from_files and self.phase == 1

    def build(self, views: dict[str, View]) -> nn.Module:
        """All encoders; linear maps Glorot-uniform with zero biases, as in VSE++."""
        self.check(views)
        options = self.options
        parts: dict[str, nn.Module] = {}
        if options.image_network:
            parts["trunk"] = backbones.Vectors(self.trunk(), options.image_network)
            width = backbones.network(options.image_network).width
        else:
            width = views["image"].vectors().shape[1]
        parts["image"] = Linear(width, options.dims)
        parts["speech"] = SpeechEncoder(
            options.speech_network,
            options.dims,
            options.width,
            options.recurrent_layers,
            options.reads_padding,
            frame_width(views["speech"]),
        )
        linear = [parts["image"], parts["speech"].project]
        if "text" in views:
            words = len(views["text"].meta["vocabulary"])
            linear.append(Linear(options.dims, options.dims))
            parts["text"] = nn.Sequential(
                CaptionEncoder(words, options.word_dims, options.dims), linear[-1]
            )
        for layer in linear:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        return nn.ModuleDict(parts)

    def place(self, train: Split) -> None:
        """Keep the transcripts too, one for each clip."""
        super().place(train)
        self.frozen: np.ndarray | None = None  # on the host, see `_keep_crops`
        self.texts: Ragged | None = None
        self.cosines: list[torch.Tensor] = []  # of the present epoch
        if "text" in train.views:
            self.texts = train.views["text"].features
            if train.views["text"].ids != train.views["speech"].ids:
                raise CrossmodalError(
                    "view 'text': its rows are other captions than those of view 'speech'; the "
                    "method needs the transcript of every clip and no other text"
                )

    def loss(self, batch: Batch) -> torch.Tensor:
        """Ranking and cycle loss of a batch of pairs."""
        images, clips, _ = batch
        frames, count = self.padded_size(self.clips, clips), len(clips)
        encoders = [
            lambda part: self._train_images(batch, part),
            lambda part: self._map_clips(self.clips, clips[part], frames),
        ]
        if self.texts is not None:
            encoders.append(lambda part: self._map_texts(clips[part]))
        rows = [in_shares(encoder, count) for encoder in encoders]
        unit = [normalize(x) for x in rows]
        negatives = None
        if not self.options.same_image_negatives:
            negatives = to_device(images[:, None] != images)
        self._note(unit[0] @ unit[1].T)
        ranking = sum(
            ranking_loss(p @ q.T, self.options.margin, negatives) for p, q in combinations(unit, 2)
        )
        seen = unit if self.options.cycle_of_unit_rows else rows
        o = self.options
        cycle = cycle_loss(seen, o.inverse_temperature, o.first_cosine, o.second_cosine)
        return ranking + o.cycle_weight * cycle

    def _note(self, scores: torch.Tensor) -> None:
        """Keep the mean cosine of the pairs and of all others, from all cosines (b, b)."""
        scores, count = scores.detach(), len(scores)
        others = (scores.sum() - scores.trace()) / (count * (count - 1))
        self.cosines.append(torch.stack([scores.trace() / count, others]))

    def log(self) -> dict[str, float]:
        """The phase, and mean cosines of images and clips: equal after a collapse."""
        positives, negatives = torch.stack(self.cosines).mean(0).tolist()
        self.cosines.clear()
        return {"phase": self.phase, "positives": positives, "negatives": negatives}

    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Unit rows (b, d)."""
        return normalize(self._map_images(features))

    def embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Unit rows (b, d)."""
        return normalize(self._map_clips(clips, rows))

    def _train_images(self, batch: Batch, part: slice = slice(None)) -> torch.Tensor:
        """Features as they are; of files one of the kept crops, in the second phase a new one."""
        if isinstance(self.images, torch.Tensor):
            return self._map_images(self.images[to_device(batch.images[part])])
        if self.phase == 1:
            self.frozen = None
            return self._map_images(self.read_random_crops(batch.crops[part]))
        if self.frozen is None:
            self.frozen = self._frozen_crops()
        chosen = torch.randint(CROPS, (len(batch.images),)).numpy()
        return self._map_images(to_device(self.frozen[batch.images[part], chosen[part]]))

    def _frozen_crops(self) -> np.ndarray:
        """What the image network makes of each image's crops, (n, crops, F), before it learns."""
        width = backbones.network(self.options.image_network).width
        how = ("crops", (len(self.images), CROPS, width), np.float16, self._keep_crops)
        if self.checkpoints:  # one process computes the file, which the others then find
            first_alone(lambda: computed_once(self.checkpoints, *how) is not None)
        return computed_once(self.checkpoints, *how)

    @torch.no_grad()
    def _keep_crops(self, kept: np.ndarray) -> None:
        """Write what the image network makes of each image's crops, (n, crops, F)."""
        network = self.network["trunk"].eval()
        batches = np.array_split(np.arange(len(kept)), -(-len(kept) // ROWS))
        crops = self.read_crops(self.images, batches, CROPS)
        for rows, features in zip(batches, crops, strict=True):
            kept[rows] = features.transpose(0, 1).half().cpu().numpy()
        network.train()

    def _map_images(self, features: torch.Tensor) -> torch.Tensor:
        return self.network["image"](normalize(features.float()))  # zeros stay zeros

    def _map_clips(
        self, clips: Sequences, rows: np.ndarray, size: int | None = None
    ) -> torch.Tensor:
        return self.network["speech"](*self.pad(clips, rows, size))

    def _map_texts(self, rows: np.ndarray) -> torch.Tensor:
        return self.network["text"](pack(self.texts, rows))
