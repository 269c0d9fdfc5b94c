"""Bi-LSTM: captions ranked by their likelihood given the image (Wang et al. 2016).

Two language models, one of the words and one of the words in reverse, see the image as v = U x + u
(`crossmodal.nn.caption_likelihood`). They learn together, each as one task:

    L = 20 (mean -log p_forward(word) + mean -log p_backward(word))

An image and a caption score log p(w | v), less what makes captions alike for any image:

    'images'    log mean_x' p(w | x') over images x' of the training split
    'words'     divided by the number of words instead
    'none'      nothing

Source: C. Wang, H. Yang, C. Bartz and C. Meinel, Image captioning with deep bidirectional LSTMs,
ACM Multimedia 2016, and with multi-task learning, ACM TOMM 14(2s), 2018; its released code.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.method import CAPTIONED
from crossmodal.learning.pair_scorer import PairScorer
from crossmodal.learning.pair_selection import ValidationItems, pair_rsum
from crossmodal.nn.bidirectional_captioner import BidirectionalCaptioner, Way
from crossmodal.nn.captions import vocabulary_size
from crossmodal.nn.padded_words import padded_words
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches, vectors_in_parts
from crossmodal.training.schedule import Phase, Schedule

MOMENTUM = 0.9
STEPS = 20  # by which the released loss multiplies the mean of a word


class BiLSTM(PairScorer, GradientMethod[np.ndarray]):
    """A forward and a backward language model that see an image."""

    class Options(Strict):
        """Options of the language models, their training and the score."""

        dims: Count = Field(1000, description="Units of each LSTM, and size of the mapped image.")
        word_dims: Count = Field(1000, description="Dimensions of the word vectors.")
        dropout: float = Field(
            0.5, ge=0, lt=1, description="Dropout rate of image features and multimodal states."
        )
        longest: Count = Field(20, description="Words of a caption that each model learns at most.")
        likelihood: Literal["forward", "both"] = Field(
            "forward", description="'forward': that of the forward model; 'both': the product."
        )
        normalisation: Literal["none", "words", "images"] = Field(
            "images", description="What is taken from the log-likelihood; see the module."
        )
        references: Count = Field(
            1000, description="Images of the training split over which 'images' averages."
        )
        optimizer: Literal["sgd", "adam"] = Field(
            "sgd", description="'sgd' with momentum 0.9, or 'adam'."
        )
        learning_rate: Positive = Field(0.01, description="Learning rate at first.")
        decay: float = Field(0.1, gt=0, le=1, description="Factor of the rate when it falls.")
        decay_every: Count = Field(50, description="Epochs after which the rate falls.")
        weight_decay: NotNegative = Field(0.0005, description="Weight decay.")
        clip: Positive = Field(10.0, description="Largest L2 norm of all gradients together.")
        batch: Count = Field(150, description="Captions per step.")
        epochs: Count = Field(125, description="Passes over all captions.")
        validation_items: ValidationItems = None

    options: Options

    task = "instance"
    network: BidirectionalCaptioner
    takes = CAPTIONED

    @property
    def schedule(self) -> Schedule:
        """One phase, whose rate falls by epochs."""
        o = self.options
        return Schedule((Phase(o.epochs, o.learning_rate),), o.decay, o.decay_every)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build the map of images and both language models."""
        return self._network(views["image"].vectors().shape[1], vocabulary_size(views))

    def _network(self, width: int, words: int) -> BidirectionalCaptioner:
        o = self.options
        return BidirectionalCaptioner(width, words, o.word_dims, o.dims, o.dropout, o.references)

    def optimizer(self) -> torch.optim.Optimizer:
        """Return SGD with momentum, or Adam."""
        parameters, decay = self.trainable(), self.options.weight_decay
        if self.options.optimizer == "adam":
            return torch.optim.Adam(parameters, weight_decay=decay, fused=True)
        return torch.optim.SGD(parameters, momentum=MOMENTUM, weight_decay=decay)

    def clip(self) -> None:
        """Clip all gradients together."""
        nn.utils.clip_grad_norm_(self.trainable(), self.options.clip)

    def place(self, train: Split) -> None:
        """Keep images and captions; draw the images over which a score is averaged."""
        images = torch.from_numpy(train.views["image"].vectors())
        self.images = images.to(device()).float()
        self.captions = padded_words(train.views["text"])
        self.owners = train.views["text"].items
        count = min(self.options.references, len(images))
        drawn = np.random.default_rng(self.run.seed).permutation(len(images))[:count]
        rows = np.resize(drawn, self.options.references)  # where there are fewer, in turn
        self.network.references.copy_(self.images[to_device(rows)])

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[np.ndarray]:
        """Return rows of captions, each once."""
        return shuffled_batches(len(self.owners), self.options.batch, rng, drop_last=False)

    def loss(self, batch: np.ndarray) -> torch.Tensor:
        """Return L of a batch."""
        images = self.network.map(self.images[to_device(self.owners[batch])])
        return STEPS * self.network.loss(images, self.captions[batch], self.options.longest)

    def validate(self, validation: Split) -> dict[str, float]:
        """Return rsum of the first validation items, of which each pair is scored once."""
        return {"validation": pair_rsum(self, validation, self.options.validation_items)}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return mapped images (rows, 1, dims); or a score's offset and words, (rows, t, 1)."""
        if modality == "image":
            return (self.network.map(part)[:, None] for part in vectors_in_parts(view))
        ids = padded_words(view)
        offsets = torch.zeros(len(ids), device=device())
        if self.options.normalisation == "images":
            every = self._likelihood(self.network.map(self.network.references), ids)
            offsets = every.logsumexp(0) - np.log(len(every))
        return [torch.cat([offsets[:, None].cpu(), torch.from_numpy(ids)], 1)[:, :, None]]

    def score_pairs(self, images: np.ndarray, captions: np.ndarray) -> np.ndarray:
        """Return the normalised log-likelihoods (n, m)."""
        offsets, ids = np.split(captions[:, :, 0], [1], axis=1)
        self.network.eval()
        with torch.inference_mode():
            scores = self._likelihood(to_device(images[:, 0]), ids).cpu().numpy() - offsets.T
        if self.options.normalisation == "words":
            scores = scores / np.maximum((~np.isnan(ids)).sum(1) - 1, 1)
        return scores

    def scoring_state(self) -> dict[str, np.ndarray]:
        """Return the weights of the network."""
        return self.state()

    def restore_scoring(self, state: dict[str, np.ndarray]) -> None:
        """Rebuild the network from its weights."""
        width, words = state["references"].shape[1], len(state["models.onward.output.bias"])
        self.network = self._network(width, words)
        self.network.load_state_dict({name: torch.from_numpy(v) for name, v in state.items()})
        self.network.to(device())

    def _likelihood(self, images: torch.Tensor, ids: np.ndarray) -> torch.Tensor:
        ways: tuple[Way, ...] = ("onward",)
        if self.options.likelihood == "both":
            ways = ("onward", "backward")
        return self.network.log_likelihood(images, ids, ways)
