"""Fisher vectors of captions (Klein et al. 2015).

Words are vectors, of which those of the training captions make a mixture of densities p, a frequent
word counting as much as a rare one. With f(x) the gradient of ln p by its parameters, in units of
its standard deviation,

    F = 1 / T sum_t f(x_t),    F_i <- sgn(F_i) |F_i|^(1/2),    F <- F / |F|

for a caption of T words; those of several mixtures stand side by side.

Source: B. Klein, G. Lev, G. Sadeh and L. Wolf, Associating neural word embeddings with deep image
representations using Fisher vectors, CVPR 2015. Word vectors are learnt on the training captions,
instead of word2vec's.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.features._mixtures import Mixture, fit_mixture
from crossmodal.features._vocabulary import SPECIAL, VocabularyFeature
from crossmodal.features._word_vectors import word_vectors
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Count
from crossmodal.vectors import unit_rows


class FisherVectors(VocabularyFeature):
    """A Fisher vector of each caption by each mixture, float32 (n, mixtures x 2 K D).

    Words that the vocabulary lacks count as nothing; a caption of such words is a row of zeros.
    """

    class Options(VocabularyFeature.Options):
        word_dims: Count = Field(description="Dimensions D of the word vectors.")
        window: Count = Field(
            5, description="Largest distance of two words that count as neighbours, in words."
        )
        mixtures: list[Literal["gaussian", "hybrid"]] = Field(
            ["gaussian", "hybrid"],
            min_length=1,
            description="'gaussian': of Gaussians; 'hybrid': each dimension of a component is "
            "Gaussian or Laplacian.",
        )
        components: Count = Field(description="Components K of each mixture.")
        iterations: Count = Field(100, description="Largest number of steps of EM.")
        seed: int = Field(0, ge=0, description="Seeds the clusters that EM begins with.")

    options: Options

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Learn words, their vectors and the mixtures from the training captions."""
        super().fit(dataset, sources)
        o, words = self.options, len(self.vocabulary) - len(SPECIAL)
        if words < max(o.word_dims, o.components):
            raise CrossmodalError(
                f"{dataset.name}: {words} words are too few for {o.word_dims} dimensions and "
                f"{o.components} components; lower word_dims, components or min_count"
            )
        rows = [row for row in self.rows(dataset) if dataset.splits[row.item] == "train"]
        captions = self._words(rows)
        self.vectors = word_vectors(captions, words, o.word_dims, o.window)
        self.mixtures = [
            fit_mixture(self.vectors, o.components, kind == "hybrid", o.iterations, o.seed)
            for kind in o.mixtures
        ]

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Average the gradients of each caption's words, then take roots and unit length."""
        captions = self._words(rows)
        owners = np.repeat(np.arange(len(rows)), [len(caption) for caption in captions])
        distinct, columns = np.unique(np.concatenate(captions), return_inverse=True)
        shares = np.zeros((len(rows), len(distinct)))
        np.add.at(shares, (owners, columns), 1)
        shares /= shares.sum(1, keepdims=True).clip(min=1)
        means = [shares @ mixture.gradients(self.vectors[distinct]) for mixture in self.mixtures]
        roots = (np.sign(mean) * np.abs(mean) ** 0.5 for mean in means)
        return np.concatenate([unit_rows(root) for root in roots], 1).astype(np.float32)

    def learnt(self) -> JsonObject:
        """Return the vocabulary, its vectors without those of the marks, and the mixtures."""
        mixtures = [{k: v.tolist() for k, v in vars(mixture).items()} for mixture in self.mixtures]
        return super().learnt() | {"vectors": self.vectors.tolist(), "mixtures": mixtures}

    def restore(self, learnt: JsonObject) -> None:
        """Take over all of it."""
        super().restore(learnt)
        self.vectors = np.array(learnt["vectors"])
        self.mixtures = [
            Mixture(**{k: np.array(v) for k, v in mixture.items()})
            for mixture in learnt["mixtures"]
        ]

    def _words(self, rows: Sequence[Caption]) -> list[np.ndarray]:
        """Return known words of each caption, numbered from 0 without the marks."""
        captions = (np.array(ids, np.int32) - len(SPECIAL) for ids in self.word_ids(rows))
        return [ids[ids >= 0] for ids in captions]
