"""Texts as vectors of a frozen sentence encoder; see `crossmodal.pretrained.sentence_transformer`.

A caption is the encoder's vector of its text. An item is the mean of its captions' vectors, of
length one where the encoder's have that.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.features._frozen import FrozenFeature
from crossmodal.features._texts import TextFeature, encoded
from crossmodal.features._words import words
from crossmodal.pretrained.sentence_transformer import SentenceTransformer
from crossmodal.pretrained.weights import Bundle

BATCH = 32


class SentenceEncoder(FrozenFeature, TextFeature):
    """Vectors float32 (n, width of the encoder)."""

    class Options(TextFeature.Options):
        weights: Bundle = Field(description="The encoder: a bundle in `data/raw/weights/`.")

    options: Options
    packages = ("transformers",)
    chunk = 1024

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.weights = self.options.weights

    def setup(self, weights: Path | None) -> None:
        """Load the encoder."""
        super().setup(weights)
        assert weights is not None  # the option names a file
        self.encoder = SentenceTransformer(weights)
        self.encoder.network.to(self.device)

    def extract(
        self,
        dataset: Items,
        rows: Sequence[Item | Caption],
        sources: dict[str, FeatureFile],
    ) -> np.ndarray:
        """Encode all texts; an item without captions is a row of zeros."""
        return encoded(dataset, rows, self._vectors, unit=self.encoder.normalised)

    def words(self, text: str) -> dict[str, bool]:
        """Return each word of a text, or each sign where it has none, and whether it is read."""
        tokens = words(text) or text.split()
        return dict(zip(tokens, self.encoder.knows(tokens), strict=True)) if tokens else {}

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Return vectors of texts (n, width), those of similar lengths together."""
        tokens = self.encoder.tokens(texts) if texts else []
        order = np.argsort([len(ids) for ids in tokens], kind="stable")
        starts = range(0, len(order), BATCH)
        batches = ([tokens[row] for row in order[start : start + BATCH]] for start in starts)
        parts = self.each(lambda batch: self.encoder.encode(batch).cpu().numpy(), batches)
        vectors = np.zeros((len(texts), self.encoder.width), np.float32)
        vectors[order] = np.concatenate([vectors[:0], *parts])
        return vectors
