"""Bags of words: how often each frequent word occurs in a text.

With tf(d, j) the count of word j in document d, df(j) the number of the n training documents that
contain it, the three weightings are tf, [tf > 0] and, with rows of length one,

    x_j = tf(d, j) (ln((1 + n) / (1 + df(j))) + 1).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from crossmodal.features.base import Feature
from crossmodal.prepared import Caption, Item, Prepared
from crossmodal.stop_words import STOP_WORDS
from crossmodal.store import FeatureFile

WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


class BagOfWords(Feature):
    """Words of the training split, the most frequent first: float32 (n, size).

    Args:
        size: Number of words; columns stay zero if the training split has fewer.
        weighting: Raw counts, presence, or tf-idf.
        unit: What a document is: an item with all its captions, or one caption.
        stop_words: Leave out function words and single letters.
    """

    modality = "text"
    reads = ("items.csv", "captions.csv", "splits.csv")

    def __init__(
        self,
        size: Annotated[int, Field(ge=1)],
        weighting: Literal["counts", "binary", "tfidf"],
        unit: Literal["item", "caption"],
        stop_words: bool,
    ) -> None:
        self.size, self.weighting, self.unit = size, weighting, unit
        self.stop_words = stop_words

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Count the words of the training documents."""
        self.texts = self._texts(dataset)
        owners = {c.id: c.item for c in dataset.captions} if self.unit == "caption" else {}
        train = [
            self._words(text)
            for row, text in self.texts.items()
            if dataset.splits[owners.get(row, row)] == "train"
        ]
        counts = Counter(word for document in train for word in document)
        self.vocabulary = sorted(counts, key=lambda word: (-counts[word], word))[: self.size]
        self.columns = {word: column for column, word in enumerate(self.vocabulary)}
        containing = np.zeros(self.size)
        for document in train:
            containing[[self.columns[word] for word in {*document} & self.columns.keys()]] += 1
        self.inverse_frequency = np.log((1 + len(train)) / (1 + containing)) + 1

    def extract(
        self,
        dataset: Prepared,
        rows: Sequence[Item] | Sequence[Caption],
        sources: dict[str, FeatureFile],
    ) -> np.ndarray:
        """Count known words and weigh them; a text without any is a row of zeros."""
        values = np.zeros((len(rows), self.size))
        for row, entry in enumerate(rows):
            for word in self._words(self.texts[entry.id]):
                if word in self.columns:
                    values[row, self.columns[word]] += 1
        if self.weighting == "binary":
            values = values > 0
        elif self.weighting == "tfidf":
            values *= self.inverse_frequency
            norms = np.linalg.norm(values, axis=1, keepdims=True)
            values /= np.where(norms > 0, norms, 1)
        return values.astype(np.float32)

    def learnt(self) -> dict[str, Any]:
        """The words in the order of the columns."""
        return {"vocabulary": self.vocabulary}

    def _texts(self, dataset: Prepared) -> dict[str, str]:
        """Text of each row."""
        if self.unit == "caption":
            return {caption.id: caption.text for caption in dataset.captions}
        texts: dict[str, list[str]] = {item.id: [] for item in dataset.items}
        for caption in dataset.captions:
            texts[caption.item].append(caption.text)
        return {item: " ".join(parts) for item, parts in texts.items()}

    def _words(self, text: str) -> list[str]:
        words = WORD.findall(unicodedata.normalize("NFKC", text).lower())
        words = [word for word in words if not word.isdigit()]
        if self.stop_words:
            words = [word for word in words if len(word) > 1 and word not in STOP_WORDS]
        return words
