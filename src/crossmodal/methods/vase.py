"""VASE: images, speech and, in training alone, its transcripts in one space.

    L = sum over pairs of modalities P, Q of R(P, Q) + lambda C

R is the sum of ranking hinges over the batch (equations 7 to 10, see `crossmodal.losses`), C the
cycle loss of all modalities (equations 11 to 30, see `crossmodal.cycle`). Without a view of texts
this is VASE (2-stream); with lambda = 0, base or base+aux. With images as features it is the
paper's first stage; with image files the second follows, in which the image network learns too.
Source: Cheng et al., IEEE TMM 2022, doi 10.1109/TMM.2022.3171090; where it is silent, the settings
of VSE++, whose defaults it shares.
"""

from itertools import combinations
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_sequence

from crossmodal import backbones
from crossmodal.cycle import cycle_loss
from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.encoders.captions import CaptionEncoder
from crossmodal.encoders.sequences import Sequences
from crossmodal.encoders.speech import SpeechEncoder, SpeechNetwork
from crossmodal.errors import CrossmodalError
from crossmodal.losses import ranking_loss
from crossmodal.pictures import Pictures
from crossmodal.speech_image import (
    ROWS,
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
from crossmodal.store import Ragged

DECAY = 0.1
CROPS = 10  # of each image, kept while the image network is frozen


class VASE(SpeechImageMethod):
    """A linear map of image features, DAVEnet with a BiGRU for speech, a GRU for transcripts.

    Args:
        dims: d, size of the shared space.
        speech_network: The CNN that reads speech.
        width: Multiplier of its channels, 1 in the paper.
        recurrent_layers: Layers of the BiGRU; the paper's text says 1, its parameter counts 2.
        word_dims: Size of the word embedding.
        image_network: The CNN that reads image files; null if images are features.
        image_weights: 'imagenet' (torchvision's first), 'random', or a file in `data/raw/weights/`.
        margin: alpha of the ranking loss.
        same_image_negatives: Whether captions of one image are negatives of each other.
        cycle_weight: lambda; 0 is base, with texts base+aux.
        inverse_temperature: beta of the cycle loss.
        cycle_of_unit_rows: Whether the cycle loss sees the embeddings after their normalisation.
        second_cosine: See `cycle_loss`.
        learning_rate: Of Adam.
        finetuning_rate: The same while the image network learns; null leaves it frozen.
        decay_every: Epochs after which the learning rate falls to a tenth.
        clip: Largest norm of all gradients together.
        batch: Pairs that are negatives of each other.
        accumulate: Batches per step.
        epochs: Passes over the training split with a frozen image network.
        finetuning_epochs: Passes after that.
        captions_per_epoch: All captions of an image, or a random one.
        max_frames: Clips are cut here; 10 ms each.
        trim: Pad a batch to its longest clip, not to `max_frames`: faster, not bit-identical.
        padding: Level of the frames behind a clip, in dB below its loudest value: 0, as in the
            released code of DAVEnet, or that of silence, -80.
        reads_padding: Whether the BiGRU reads the padding too, as the paper's text has it; else the
            steps of the clip alone.
    """

    continues = False

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0, multiple_of=2)],
        speech_network: SpeechNetwork,
        width: Rate,
        recurrent_layers: Positive,
        word_dims: Positive,
        image_network: backbones.Name | None,
        image_weights: backbones.Weights,
        margin: Annotated[float, Field(ge=0)],
        same_image_negatives: bool,
        cycle_weight: Annotated[float, Field(ge=0)],
        inverse_temperature: Annotated[float, Field(ge=0)],
        cycle_of_unit_rows: bool,
        second_cosine: bool,
        learning_rate: Rate,
        finetuning_rate: Rate | None,
        decay_every: Positive,
        clip: Rate,
        batch: BatchSize,
        accumulate: Positive,
        epochs: Positive,
        finetuning_epochs: Positive,
        captions_per_epoch: CaptionsPerEpoch,
        max_frames: Frames,
        trim: bool,
        padding: Decibels,
        reads_padding: bool,
    ) -> None:
        if finetuning_rate and not image_network:
            raise ValueError("finetuning_rate: needs an image_network; set one, or this to null")
        if reads_padding and trim:
            raise ValueError("reads_padding: needs clips of one length; set trim to false")
        self.dims, self.recurrent_layers, self.word_dims = dims, recurrent_layers, word_dims
        self.speech_network, self.width = speech_network, width
        self.image_network = image_network
        if image_network:
            self.weights = backbones.weights_file(image_network, image_weights)
        self.margin, self.same_image_negatives = margin, same_image_negatives
        self.cycle_weight, self.inverse_temperature = cycle_weight, inverse_temperature
        self.cycle_of_unit_rows, self.second_cosine = cycle_of_unit_rows, second_cosine
        self.rates, self.decay_every = (learning_rate, finetuning_rate), decay_every
        self.clip_norm, self.batch, self.accumulate = clip, batch, accumulate
        self.stages, self.phases = (epochs, finetuning_epochs), 2 if finetuning_rate else 1
        self.captions_per_epoch = captions_per_epoch
        self.max_frames, self.trim, self.padding = max_frames, trim, padding
        self.reads_padding = reads_padding

    @property
    def epochs(self) -> int:
        """Of the present stage."""
        return self.stages[self.phase]

    def build(self, views: dict[str, View]) -> nn.Module:
        """All encoders; linear maps Glorot-uniform with zero biases, as in VSE++."""
        self.check(views, further=("text",))
        parts: dict[str, nn.Module] = {}
        if self.image_network:
            parts["trunk"] = backbones.Vectors(self.trunk(), self.image_network)
            width = backbones.NETWORKS[self.image_network].width
        else:
            width = views["image"].vectors().shape[1]
        parts["image"] = nn.Linear(width, self.dims)
        parts["speech"] = SpeechEncoder(
            self.speech_network, self.dims, self.width, self.recurrent_layers, self.reads_padding
        )
        linear = [parts["image"], parts["speech"].project]
        if "text" in views:
            words = len(views["text"].meta["vocabulary"])
            linear.append(nn.Linear(self.dims, self.dims))
            parts["text"] = nn.Sequential(
                CaptionEncoder(words, self.word_dims, self.dims), linear[-1]
            )
        for layer in linear:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        return nn.ModuleDict(parts)

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam without weight decay; of the image network only in the second stage."""
        if self.image_network:
            self.network["trunk"].requires_grad_(self.phase == 1)
        trained = [p for p in self.network.parameters() if p.requires_grad]
        return torch.optim.Adam(trained, self.rates[self.phase], fused=True)

    def learning_rate(self, epoch: int, step: int) -> float:
        """Steps down by epochs of the stage."""
        return self.rates[self.phase] * DECAY ** (epoch // self.decay_every)

    def clip(self) -> None:
        """Global norm of the gradients."""
        nn.utils.clip_grad_norm_(self.network.parameters(), self.clip_norm)

    def place(self, train: Split) -> None:
        """Keep the transcripts too, which have the rows of the clips."""
        super().place(train)
        self.frozen: torch.Tensor | None = None
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
        images, clips = batch
        rows = [self._train_images(images), self._map_clips(self.clips, clips)]
        if self.texts is not None:
            rows.append(self._map_texts(clips))
        unit = [normalize(x) for x in rows]
        negatives = None
        if not self.same_image_negatives:
            negatives = torch.from_numpy(images[:, None] != images).to(device())
        self._note(unit[0] @ unit[1].T)
        ranking = sum(
            ranking_loss(p @ q.T, self.margin, negatives) for p, q in combinations(unit, 2)
        )
        seen = unit if self.cycle_of_unit_rows else rows
        cycle = cycle_loss(seen, self.inverse_temperature, self.second_cosine)
        return ranking + self.cycle_weight * cycle

    def _note(self, scores: torch.Tensor) -> None:
        """Keep the mean cosine (b, b) of the pairs and of all others."""
        scores, count = scores.detach(), len(scores)
        others = (scores.sum() - scores.trace()) / (count * (count - 1))
        self.cosines.append(torch.stack([scores.trace() / count, others]))

    def log(self) -> dict[str, float]:
        """The stage, and mean cosines of images and clips: equal after a collapse."""
        positives, negatives = torch.stack(self.cosines).mean(0).tolist()
        self.cosines.clear()
        return {"phase": self.phase, "positives": positives, "negatives": negatives}

    def embed_images(self, images: Images, rows: np.ndarray) -> torch.Tensor:
        """Unit rows (b, d)."""
        if isinstance(images, Pictures):
            return normalize(self._map_images(self.run_trunk(images.crops(rows, 1)[0])))
        return normalize(self._map_images(images[rows]))

    def embed_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        """Unit rows (b, d)."""
        return normalize(self._map_clips(clips, rows))

    def _train_images(self, rows: np.ndarray) -> torch.Tensor:
        """Features as they are; of files one of the kept crops, in the second stage a new one."""
        if isinstance(self.images, torch.Tensor):
            return self._map_images(self.images[rows])
        if self.phase == 1:
            return self._map_images(self.run_trunk(self.images.random_crops(rows, mirror=True)))
        if self.frozen is None:
            self.frozen = self._frozen_features(self.images)
        return self._map_images(self.frozen[rows, torch.randint(CROPS, (len(rows),))])

    @torch.no_grad()
    def _frozen_features(self, images: Pictures) -> torch.Tensor:
        """What the image network makes of each image's crops, (n, crops, F) in half precision."""
        self.network["trunk"].eval()
        parts = [
            torch.stack([*map(self.run_trunk, images.crops(rows, CROPS))], dim=1).half()
            for rows in np.array_split(np.arange(len(images)), -(-len(images) // ROWS))
        ]
        self.network["trunk"].train()
        return torch.cat(parts)

    def _map_images(self, features: torch.Tensor) -> torch.Tensor:
        return self.network["image"](normalize(features.float()))  # zeros stay zeros

    def _map_clips(self, clips: Sequences, rows: np.ndarray) -> torch.Tensor:
        return self.network["speech"](*self.pad(clips, rows))

    def _map_texts(self, rows: np.ndarray) -> torch.Tensor:
        words = [torch.from_numpy(self.texts[row]).long() for row in rows]
        return self.network["text"](pack_sequence(words, enforce_sorted=False).to(device()))
