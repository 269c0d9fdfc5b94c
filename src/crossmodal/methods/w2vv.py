"""W2VV: a network that predicts the features of the image from a caption (Dong et al. 2018).

    s(t) = [bag of words of t; mean word vector of t; last state of a GRU over t]
    v(t) = relu(W_2 relu(W_1 s(t) + b_1) + b_2),       L = |v(t) - x|^2 / F

An image is its features x (F,), so that retrieval happens in the space of features, by the cosine.

Source: J. Dong, X. Li and C. Snoek, Predicting visual features from text for image and video
caption retrieval, IEEE Trans. Multimedia 20(12), 2018. Word vectors are those of the GRU, which are
learnt here, instead of word2vec.
"""

from collections.abc import Iterable

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import mse_loss, normalize

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.method import CAPTIONED
from crossmodal.nn.captions import CaptionEncoder, pack, vocabulary_size
from crossmodal.nn.mlp import linear, mlp
from crossmodal.nn.precision import Precision, compute_in
from crossmodal.plugin import Count, Positive, Strict
from crossmodal.training.gradient import GradientMethod, shuffled_batches

ROWS = 512


class W2VV(GradientMethod[np.ndarray]):
    """A regression from captions to fixed image features."""

    class Options(Strict):
        """Options of the network and its training."""

        dims: Count = Field(description="Units of the GRU.")
        word_dims: Count = Field(description="Dimensions of the word vectors.")
        hidden: Count = Field(description="Units of the hidden layer.")
        dropout: float = Field(ge=0, lt=1, description="Dropout rate of the hidden layer.")
        learning_rate: Positive = Field(description="Learning rate of RMSprop.")
        clip: Positive = Field(description="Largest L2 norm of all gradients together.")
        batch: Count = Field(description="Captions per step.")
        epochs: Count = Field(description="Passes over all captions.")
        precision: Precision = "float32"

    options: Options

    task = "instance"
    network: "CaptionRegression"
    takes = CAPTIONED

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build caption encoder and multi-layer perceptron."""
        o, words = self.options, vocabulary_size(views)
        layers = mlp([words + o.word_dims + o.dims, o.hidden], nn.ReLU, o.dropout)
        layers.append(linear(o.hidden, views["image"].vectors().shape[1]))
        layers.append(nn.ReLU())
        text = CaptionEncoder(words, o.word_dims, o.dims)
        compute_in(o.precision, text, layers)
        return CaptionRegression(text, layers)

    def optimizer(self) -> torch.optim.Optimizer:
        """Return RMSprop that forgets a tenth in each step."""
        return torch.optim.RMSprop(self.trainable(), alpha=0.9)

    def clip(self) -> None:
        """Clip all gradients together."""
        nn.utils.clip_grad_norm_(self.network.parameters(), self.options.clip)

    def place(self, train: Split) -> None:
        """Place images on the device."""
        self.images = torch.from_numpy(train.views["image"].vectors()).to(device())  # (n, F)
        self.captions = train.views["text"].sequences()
        self.owners = torch.from_numpy(train.views["text"].items)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[np.ndarray]:
        """Return rows of captions, each once."""
        return shuffled_batches(len(self.owners), self.options.batch, rng, drop_last=False)

    def loss(self, batch: np.ndarray) -> torch.Tensor:
        """Return the mean squared error of the predicted features."""
        owners = to_device(self.owners[batch])
        return mse_loss(self.network(self.captions, batch), self.images[owners].float())

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return unit features, or unit predictions of them (rows, F)."""
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            if modality == "text":
                yield normalize(self.network(view.sequences(), rows))
            else:
                yield normalize(torch.from_numpy(view.vectors()[rows]).to(device()).float())


class CaptionRegression(nn.Module):
    """The network from captions to image features.

    Args:
        text: Word vectors, and the GRU.
        layers: Maps s (b, ...) to v (b, F).
    """

    def __init__(self, text: CaptionEncoder, layers: nn.Sequential) -> None:
        super().__init__()
        self.text, self.layers = text, layers

    def forward(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        """Return predictions v (b, F) of some captions."""
        words = self.text.words
        counts = [np.bincount(captions[row], minlength=words.num_embeddings) for row in rows]
        bag = to_device(np.stack(counts).astype(np.float32))  # (b, words)
        mean = bag / bag.sum(1, keepdim=True) @ words.weight
        return self.layers(torch.cat([bag, mean, self.text(pack(captions, rows))], dim=1))
