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
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.device import to_device
from crossmodal.errors import CrossmodalError
from crossmodal.nn.captions import CaptionEncoder, pack
from crossmodal.nn.losses import hardest_ranking_loss
from crossmodal.nn.onednn import Linear
from crossmodal.plugin import Count, NotNegative, Positive, Strict
from crossmodal.pretrained import backbones
from crossmodal.pretrained.weights import Weights
from crossmodal.training.distributed import in_shares
from crossmodal.training.fine_tuning import FineTuning
from crossmodal.training.gradient import shuffled_batches
from crossmodal.training.image_network import ROWS, epoch_captions


class Batch(NamedTuple):
    """Pairs of an image and a caption.

    Args:
        images: Rows of the images, (b,).
        captions: Rows of the captions, (b,).
        crops: A new part of each image, (b, crop, crop, 3) uint8 RGB.
    """

    images: np.ndarray
    captions: np.ndarray
    crops: torch.Tensor


class VSEFinetuned(FineTuning):
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

    task = "instance"
    distributed = True
    mirrors = True
    takes: ClassVar = {"image": ("files",), "text": ("sequence",)}

    def build(self, views: dict[str, View]) -> nn.Module:
        """Image network, its linear map, Glorot-uniform without bias at first, caption encoder.

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
        trunk = backbones.Vectors(self.trunk(), o.image_network)
        image = Linear(backbones.network(o.image_network).width, o.dims)
        nn.init.xavier_uniform_(image.weight)
        nn.init.zeros_(image.bias)
        text = CaptionEncoder(words, o.word_dims, o.dims, "uniform")
        return nn.ModuleDict({"trunk": trunk, "image": image, "text": text})

    def place(self, train: Split) -> None:
        """Image files and captions stay in main memory."""
        self.images = self.place_images(train.views["image"])
        self.captions, self.owners = train.views["text"].features, train.views["text"].items

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Shuffled pairs, each with a new part of its image; a last one alone has no negatives."""
        chosen = epoch_captions(self.owners, self.options.captions_per_epoch, rng)
        rows = shuffled_batches(len(chosen), self.options.batch, rng, drop_last=False)
        captions = [chosen[r] for r in rows if len(r) > 1]
        images = [self.owners[r] for r in captions]
        crops = self.random_crops(self.images, images, rng)
        return map(Batch, images, captions, crops)

    def loss(self, batch: Batch) -> torch.Tensor:
        """L of a batch; captions of one image are no negatives."""
        i = in_shares(lambda part: self._train_images(batch.crops[part]), len(batch.images))
        c = in_shares(lambda part: self._map_captions(self.captions, batch.captions[part]), len(i))
        negatives = to_device(batch.images[:, None] != batch.images)
        return hardest_ranking_loss(i @ c.T, self.options.margin, negatives, "negative")

    def log(self) -> dict[str, float]:
        """The phase."""
        return {"phase": self.phase}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Unit rows (rows, dims)."""
        if modality == "image":
            yield from self.encode_images(view)
            return
        for start in range(0, len(view.items), ROWS):
            rows = np.arange(start, min(start + ROWS, len(view.items)))
            yield self._map_captions(view.features, rows)

    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Unit rows (b, dims)."""
        return normalize(self.network["image"](normalize(features)))

    def _train_images(self, crops: torch.Tensor) -> torch.Tensor:
        """Embeddings of crops; a frozen network keeps its statistics."""
        learns = self.phase == 1
        self.network["trunk"].train(learns)
        with torch.set_grad_enabled(learns):
            features = self.read_random_crops(crops)
        return self.embed_images(features)

    def _map_captions(self, captions: Ragged, rows: np.ndarray) -> torch.Tensor:
        return normalize(self.network["text"](pack(captions, rows)))
