"""m-CNN: networks of an image and a caption, which meet at words, phrases or the sentence.

The score of a pair is the sum of those of its networks (`crossmodal.nn.matching_cnn`), which share
nothing, and learn side by side, each by

    L = mean [m + s(x, y') - s(x, y)]_+         y' a caption of another image of the batch,

and with `hinges: both` also by the same of another image x' and y.

Source: L. Ma, Z. Lu, L. Shang and H. Li, Multimodal convolutional neural networks for matching
image and sentence, ICCV 2015.
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
from crossmodal.nn.captions import vocabulary_size
from crossmodal.nn.losses import draw_impostors, total
from crossmodal.nn.matching_cnn import LEVELS, LONGEST, Level, MatchingCNN
from crossmodal.nn.mlp import Layers
from crossmodal.nn.padded_words import padded_words
from crossmodal.nn.typed import ModulesByName
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches, vectors_in_parts


class MCNN(PairScorer, GradientMethod[np.ndarray]):
    """Matching networks of several levels, whose scores are added."""

    class Options(Strict):
        """Options of the networks and their training."""

        levels: list[Level] = Field(
            [*LEVELS], min_length=1, description="Where networks let captions meet images."
        )
        word_dims: Count = Field(50, description="Dimensions of the word vectors.")
        image_dims: Count = Field(256, description="Dimensions of a mapped image.")
        channels: Layers = Field(
            [200, 300, 300], min_length=3, max_length=3, description="Maps of each convolution."
        )
        hidden: Count = Field(400, description="Units of the hidden layer.")
        dropout: float = Field(0.1, ge=0, lt=1, description="Dropout rate of the hidden layer.")
        margin: NotNegative = Field(0.5, description="Margin m.")
        hinges: Literal["captions", "both"] = Field(
            "captions", description="'captions': against another caption; 'both': or image."
        )
        optimizer: Literal["sgd", "adam"] = Field("sgd", description="'sgd', or 'adam'.")
        learning_rate: Positive = Field(0.1, description="Learning rate.")
        batch: int = Field(100, gt=1, description="Captions per step.")
        epochs: Count = Field(100, description="Passes over all captions.")
        validation_items: ValidationItems = None

    options: Options

    task = "instance"
    network: ModulesByName[MatchingCNN]
    takes = CAPTIONED

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build the network of each level."""
        return self._networks(views["image"].vectors().shape[1], vocabulary_size(views))

    def _networks(self, width: int, words: int) -> ModulesByName[MatchingCNN]:
        o = self.options
        sizes = (words, o.word_dims, width, o.image_dims, o.channels, o.hidden, o.dropout)
        networks: dict[str, nn.Module] = {level: MatchingCNN(level, *sizes) for level in o.levels}
        return ModulesByName(networks)

    def _in_order(self) -> list[MatchingCNN]:
        return [self.network[level] for level in self.options.levels]

    def optimizer(self) -> torch.optim.Optimizer:
        """Return SGD, or Adam."""
        if self.options.optimizer == "adam":
            return torch.optim.Adam(self.trainable(), fused=True)
        return torch.optim.SGD(self.trainable())

    def place(self, train: Split) -> None:
        """Keep images and captions."""
        self.images = torch.from_numpy(train.views["image"].vectors()).to(device()).float()
        self.captions = padded_words(train.views["text"], LONGEST)
        self.owners = train.views["text"].items

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[np.ndarray]:
        """Return rows of captions, each once."""
        return shuffled_batches(len(self.owners), self.options.batch, rng, drop_last=False)

    def loss(self, batch: np.ndarray) -> torch.Tensor:
        """Return the sum of L of all networks."""
        owners = to_device(self.owners[batch])
        images, captions = self.images[owners], self.captions[batch]
        return total(
            self._hinges(network, images, captions, owners[:, None] != owners)
            for network in self._in_order()
        )

    def _hinges(
        self,
        network: MatchingCNN,
        features: torch.Tensor,
        captions: np.ndarray,
        negatives: torch.Tensor,
    ) -> torch.Tensor:
        images, (maps, counts) = network.images(features), network.texts(captions)
        own, other = network.pairs(images, (maps, counts)), draw_impostors(negatives)
        wrong = [network.pairs(images, (maps[other], counts[other]))]
        if self.options.hinges == "both":
            wrong.append(network.pairs(images[draw_impostors(negatives)], (maps, counts)))
        margin = self.options.margin
        return total((margin + scores - own).clamp(min=0).mean() for scores in wrong)

    def validate(self, validation: Split) -> dict[str, float]:
        """Return rsum of the first validation items, of which each pair is scored once."""
        return {"validation": pair_rsum(self, validation, self.options.validation_items)}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return images of each network, (rows, networks, image_dims); or words (rows, t, 1)."""
        if modality == "text":
            return [torch.from_numpy(padded_words(view, LONGEST))[:, :, None]]
        parts = vectors_in_parts(view)
        return (torch.stack([network.images(x) for network in self._in_order()], 1) for x in parts)

    def score_pairs(self, images: np.ndarray, captions: np.ndarray) -> np.ndarray:
        """Return the summed scores (n, m) of the networks."""
        self.network.eval()
        with torch.inference_mode():
            parts = to_device(images).unbind(1)
            networks = zip(self._in_order(), parts, strict=True)
            scores = total(
                network.every_pair(part, captions[:, :, 0]) for network, part in networks
            )
        return scores.cpu().numpy()

    def scoring_state(self) -> dict[str, np.ndarray]:
        """Return the weights of the networks."""
        return self.state()

    def restore_scoring(self, state: dict[str, np.ndarray]) -> None:
        """Rebuild the networks from their weights."""
        level = self.options.levels[0]
        width = state[f"{level}.image.weight"].shape[1]
        self.network = self._networks(width, len(state[f"{level}.words.weight"])).to(device())
        self.network.load_state_dict({name: torch.from_numpy(v) for name, v in state.items()})
