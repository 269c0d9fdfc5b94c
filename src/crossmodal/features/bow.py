"""Bags of words: how often each frequent word occurs in a text.

With tf(d, j) the count of word j in document d, df(j) the number of the n training documents that
contain it, the three weightings are tf, [tf > 0] and, with rows of length one,

    x_j = tf(d, j) (ln((1 + n) / (1 + df(j))) + 1).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Item, Items, Prepared, item_of
from crossmodal.features._stop_words import STOP_WORDS
from crossmodal.features._texts import TextFeature
from crossmodal.features._words import words
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Count


class BagOfWords(TextFeature):
    """Words of the training split, the most frequent first: float32 (n, size)."""

    class Options(TextFeature.Options):
        size: Count = Field(
            description="Number of words; columns stay zero if the training split has fewer."
        )
        weighting: Literal["counts", "binary", "tfidf"] = Field(
            description="Values: raw counts, presence, or tf-idf."
        )
        stop_words: bool = Field(
            True, description="Whether function words and single letters are left out, of English."
        )

    options: Options
    reads = ("items.csv", "captions.csv", "splits.csv")

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Count the words of the training documents."""
        rows = [row for row in self.rows(dataset) if dataset.splits[item_of(row)] == "train"]
        train = [self._words(dataset, row) for row in rows]
        counts = Counter(word for document in train for word in document)
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        self._learn(ordered[: self.options.size])
        containing = np.zeros(self.options.size)
        for document in train:
            distinct = {*document} & self._columns.keys()
            containing[[self._columns[word] for word in distinct]] += 1
        self.inverse_frequency = np.log((1 + len(train)) / (1 + containing)) + 1

    def extract(
        self,
        dataset: Items,
        rows: Sequence[Item | Caption],
        sources: dict[str, FeatureFile],
    ) -> np.ndarray:
        """Count known words and weight them; a text without any is a row of zeros."""
        values = np.zeros((len(rows), self.options.size))
        for row, entry in enumerate(rows):
            for word in self._words(dataset, entry):
                if word in self._columns:
                    values[row, self._columns[word]] += 1
        if self.options.weighting == "binary":
            values = np.sign(values)
        elif self.options.weighting == "tfidf":
            values *= self.inverse_frequency
            norms = np.linalg.norm(values, axis=1, keepdims=True)
            values /= np.where(norms > 0, norms, 1)
        return values.astype(np.float32)

    def words(self, text: str) -> dict[str, bool]:
        """Return each word of a text that counts, and whether it has a column."""
        return {word: word in self._columns for word in self._counting(text)}

    def learnt(self) -> JsonObject:
        """Return the words and their inverse document frequencies, in the order of the columns."""
        return {
            "vocabulary": self.vocabulary,
            "inverse_frequency": self.inverse_frequency.tolist(),
        }

    def restore(self, learnt: JsonObject) -> None:
        """Take over the words and their weights.

        Raises:
            ValueError: If they are of another number of words.
        """
        self._learn(learnt["vocabulary"])
        self.inverse_frequency = np.array(learnt["inverse_frequency"])
        size, weights = self.options.size, self.inverse_frequency.shape
        if weights != (size,) or len(self.vocabulary) > size:
            raise ValueError(
                f"{len(self.vocabulary)} words and weights of shape {weights}, but size is {size}"
            )

    def _learn(self, vocabulary: list[str]) -> None:
        self.vocabulary = vocabulary
        self._columns = {word: column for column, word in enumerate(vocabulary)}

    def _words(self, dataset: Items, row: Item | Caption) -> list[str]:
        """Return words of a document."""
        captions = [row] if isinstance(row, Caption) else dataset.captions_of[row.id]
        return [word for caption in captions for word in self._counting(caption.text)]

    def _counting(self, text: str) -> list[str]:
        """Return words of a text but numbers and those that are left out."""
        counting = [word for word in words(text) if not word.isdigit()]
        if not self.options.stop_words or self.language.lower().split("-")[0] != "en":
            return counting
        # a single letter of another script may be a word
        return [w for w in counting if w not in STOP_WORDS and not (len(w) == 1 and w.isascii())]
