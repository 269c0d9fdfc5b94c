"""VSE++ with an image network that learns too: captions and parts of images (Faghri et al. 2018).

    i = n(W n(f(x)) + b)        c = n(GRU(E t))        n(u) = u / |u|,        S = i c'
    L = sum_i max_j [a + S_ij - S_ii]_+ + sum_j max_i [a + S_ij - S_jj]_+,    i != j

f is an image network, and x a random part of an image, drawn anew for each pair and mirrored as
often as not. In the first phase f is frozen; in the second, from the best epoch of the first on, it
learns with all the rest.

Source: F. Faghri, D. Fleet, J. Kiros and S. Fidler, VSE++: improving visual-semantic embeddings
with hard negatives, BMVC 2018, section 4, and the released code.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import to_device
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Takes
from crossmodal.nn.captions import CaptionEncoder, pack
from crossmodal.nn.losses import hardest_ranking_loss
from crossmodal.nn.mlp import linear
from crossmodal.nn.precision import Precision, compute_in
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.pretrained import backbones
from crossmodal.pretrained.weights import Weights
from crossmodal.training.distributed import in_shares
from crossmodal.training.gradient import GradientMethod
from crossmodal.training.image_encoder import ROWS, ImageFiles
from crossmodal.training.pairs import Batch, draw_pairs
from crossmodal.training.schedule import Phase, Schedule

DECAY = 0.1  # of the learning rate
TAKES: Takes = {"image": ("files",), "text": ("sequence",)}


class VSEFinetuned(GradientMethod[Batch]):
    """A linear map of what an image network makes of image files, and a GRU over words."""

    class Options(Strict):
        dims: Count = Field(description="Dimensions of the shared space, and units of the GRU.")
        word_dims: Count = Field(description="Dimensions of the word embedding.")
        image_network: backbones.Name = Field(description="The CNN that reads image files.")
        image_weights: Weights = Field(
            "imagenet",
            description="'imagenet' (the official ones), 'random', or a file in data/raw/weights/.",
        )
        margin: NotNegative = Field(description="Margin a of the hinges, in units of the cosine.")
        learning_rate: Positive = Field(
            description="Learning rate of Adam while the image network is frozen."
        )
        finetuning_rate: Positive = Field(description="Learning rate while it learns.")
        decay_every: Count = Field(
            description="Epochs of a phase after which its learning rate is a tenth, each time."
        )
        clip: Positive = Field(2.0, description="Largest L2 norm of all gradients together.")
        captions_per_epoch: Literal["one", "all"] = Field(
            description="A random caption of each image, or all of them."
        )
        batch: int = Field(gt=1, description="Pairs per step, negatives of each other.")
        epochs: Count = Field(description="Passes while the image network is frozen.")
        finetuning_epochs: Count = Field(description="Passes while it learns.")
        precision: Precision = "float32"

    options: Options
    task = "instance"
    distributed = True
    takes = TAKES
    network: nn.ModuleDict

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        o = self.options
        self.images = ImageFiles(o.image_network, o.image_weights, mirrors=True)
        self.weights, self.threads = self.images.weights, self.images.threads

    @property
    def schedule(self) -> Schedule:
        """The image network is frozen in the first phase and learns in the second."""
        o = self.options
        frozen, tuned = (
            Phase(o.epochs, o.learning_rate),
            Phase(o.finetuning_epochs, o.finetuning_rate),
        )
        return Schedule((frozen, tuned), DECAY, o.decay_every, o.clip)

    def build(self, views: dict[str, View]) -> nn.ModuleDict:
        """Make image network, its linear map, Glorot-uniform without bias, and caption encoder.

        Raises:
            CrossmodalError: If the views are not image files and word ids.
        """
        files = all(isinstance(view.features, Ragged) for view in views.values())
        if set(views) != {"image", "text"} or not files:
            raise CrossmodalError(
                "the method needs two views, an image that is its file (plug-in `pictures`) and "
                "a text that is a sequence of word ids (plug-in `tokens`), but has "
                f"{', '.join(views)}"
            )
        o, words = self.options, len(views["text"].meta["vocabulary"])
        trunk = self.images.build(backbones.Vectors, self.run)
        image = linear(self.images.facts.width, o.dims)
        text = CaptionEncoder(words, o.word_dims, o.dims, "uniform")
        compute_in(o.precision, trunk, image, text)
        return nn.ModuleDict({"trunk": trunk, "image": image, "text": text})

    def optimizer(self) -> torch.optim.Optimizer:
        """Make Adam without weight decay; of the image network only in the second phase."""
        self.images.learn(self.phase == 1)
        return torch.optim.Adam(self.trainable(), fused=True)

    def place(self, train: Split) -> None:
        """Keep image files and captions in main memory."""
        text = train.views["text"]
        self.images.place(train.views["image"])
        self.captions, self.owners = text.sequences(), text.items

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Return shuffled pairs, each with a new crop of its image."""
        o = self.options
        return self.images.with_crops(
            draw_pairs(self.owners, o.captions_per_epoch, o.batch, rng), rng
        )

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return L of a batch; captions of one image are no negatives."""
        rows = batch.captions
        i = in_shares(lambda part: self._map_images(self.images.features(batch, part)), len(rows))
        c = in_shares(lambda part: self._map_captions(self.captions, rows[part]), len(rows))
        negatives = to_device(batch.images[:, None] != batch.images)
        return hardest_ranking_loss(i @ c.T, self.options.margin, negatives, "negative")

    def log(self) -> dict[str, float]:
        """Return the phase."""
        return {"phase": self.phase}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return unit rows (rows, dims)."""
        if modality == "image":
            return map(self._map_images, self.images.read(view))
        rows = np.arange(len(view.items))
        parts = np.split(rows, range(ROWS, len(rows), ROWS))
        return (self._map_captions(view.sequences(), part) for part in parts)

    def _map_images(self, features: torch.Tensor) -> torch.Tensor:
        return normalize(self.network["image"](normalize(features)))

    def _map_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        return normalize(self.network["text"](pack(captions, rows)))
