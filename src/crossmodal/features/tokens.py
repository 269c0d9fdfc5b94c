"""Captions as sequences of word ids.

A caption is split into sentences, and these into words and punctuation marks, as NLTK does; of
scripts without spaces each character is a word. A regular expression finds the sentences, so that
NLTK's sentence model need not be downloaded.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.features._words import apart, is_punctuation, normalised
from crossmodal.plugin import Count, Strict

PAD, UNKNOWN, END, BEGIN = range(4)
SPECIAL = ["<pad>", "<unk>", "<eos>", "<bos>"]
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Tokens(Feature):
    """Sequences of int32 ids: 0 pads, 1 is any unknown word, 2 ends and 3 begins a caption.

    Captions without text have no row.
    """

    class Options(Strict):
        fit_on: list[Literal["train", "validation"]] = Field(
            min_length=1, description="Splits whose captions make the vocabulary."
        )
        min_count: Count = Field(
            description="How often a word occurs in them at least; rarer ones are unknown."
        )
        lower: bool = Field(True, description="Whether captions are turned to lower case.")
        bos: bool = Field(description="Whether the id 3 precedes the words.")
        eos: bool = Field(True, description="Whether the id 2 follows the words.")

    modality = "text"
    unit = "caption"
    shape = "sequence"
    reads = ("items.csv", "captions.csv", "splits.csv")

    def rows(self, dataset: Items) -> list[Caption]:
        """Captions that have text."""
        rows = [caption for caption in dataset.captions if caption.text.strip()]
        if not rows:
            raise CrossmodalError(f"{dataset.name}: no caption has text")
        return rows

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Collect the words, the most frequent first, ties by the alphabet."""
        counts = Counter(
            word
            for caption in self.rows(dataset)
            if dataset.splits[caption.item] in self.options.fit_on
            for word in tokenise(caption.text, self.options.lower)
        )
        words = [word for word, count in counts.items() if count >= self.options.min_count]
        self._learn(SPECIAL + sorted(words, key=lambda word: (-counts[word], word)))

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Ids of the words of each caption."""
        before, after = [BEGIN] * self.options.bos, [END] * self.options.eos
        texts = [tokenise(row.text, self.options.lower) for row in rows]
        return [
            np.array(before + [self._ids.get(word, UNKNOWN) for word in text] + after, np.int32)
            for text in texts
        ]

    def learnt(self) -> dict[str, Any]:
        """The vocabulary: its position is a word's id."""
        return {"vocabulary": self.vocabulary}

    def restore(self, learnt: dict[str, Any]) -> None:
        """Take over the vocabulary."""
        self._learn(learnt["vocabulary"])

    def _learn(self, vocabulary: list[str]) -> None:
        self.vocabulary = vocabulary
        self._ids = {word: id for id, word in enumerate(vocabulary)}

    def words(self, text: str) -> dict[str, bool]:
        """Return each word of a text, without punctuation marks, and whether it has an id."""
        tokens = tokenise(text, self.options.lower)
        return {word: word in self._ids for word in tokens if not is_punctuation(word)}


def tokenise(text: str, lower: bool) -> list[str]:
    """Words and punctuation marks of a text."""
    from nltk.tokenize import NLTKWordTokenizer

    text = apart(normalised(text)).strip()
    sentences = SENTENCE_END.split(text.lower() if lower else text)
    return [word for sentence in sentences for word in NLTKWordTokenizer().tokenize(sentence)]
