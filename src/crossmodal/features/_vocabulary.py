"""Base class of features that number the words of captions.

A caption is split into sentences, and these into words and punctuation marks, as NLTK does; in
scripts without spaces each character is a word. A regular expression finds the sentences, so that
NLTK's sentence model need not be downloaded.
"""

import functools
import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, Literal

from pydantic import Field

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.features._words import REMEMBERED, apart, is_punctuation, normalised
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Count, Strict

PAD, UNKNOWN, END, BEGIN = range(4)
SPECIAL = ["<pad>", "<unk>", "<eos>", "<bos>"]
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class VocabularyFeature(Feature):
    """Rows that are computed from the word ids of captions; captions without text have no row."""

    class Options(Strict):
        fit_on: list[Literal["train", "validation"]] = Field(
            min_length=1, description="Splits whose captions make the vocabulary."
        )
        min_count: Count = Field(
            description="Smallest number of occurrences in these splits; rarer words are unknown."
        )
        bos: bool = Field(description="Whether the id 3 precedes the words.")

    options: Options
    modality = "text"
    unit = "caption"
    reads: ClassVar[tuple[str, ...]] = ("items.csv", "captions.csv", "splits.csv")

    def rows(self, dataset: Items) -> list[Caption]:
        """Return the captions that have text."""
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
            for word in tokenise(caption.text)
        )
        words = [word for word, count in counts.items() if count >= self.options.min_count]
        self._learn(SPECIAL + sorted(words, key=lambda word: (-counts[word], word)))

    def word_ids(self, rows: Sequence[Caption]) -> list[list[int]]:
        """Return the ids of the words of each caption."""
        return [[self._ids.get(word, UNKNOWN) for word in tokenise(row.text)] for row in rows]

    def learnt(self) -> JsonObject:
        """Return the vocabulary: its position is a word's id."""
        return {"vocabulary": self.vocabulary}

    def restore(self, learnt: JsonObject) -> None:
        """Take over the vocabulary."""
        self._learn(learnt["vocabulary"])

    def _learn(self, vocabulary: list[str]) -> None:
        self.vocabulary = vocabulary
        self._ids = {word: id for id, word in enumerate(vocabulary)}

    def words(self, text: str) -> dict[str, bool]:
        """Return each word of a text, without punctuation marks, and whether it has an id."""
        return {word: word in self._ids for word in tokenise(text) if not is_punctuation(word)}


@functools.lru_cache(REMEMBERED)
def tokenise(text: str) -> tuple[str, ...]:
    """Return the words and punctuation marks of a text, in lower case."""
    from nltk.tokenize import NLTKWordTokenizer

    sentences = SENTENCE_END.split(apart(normalised(text)).strip().lower())
    tokens = chain.from_iterable(map(NLTKWordTokenizer().tokenize, sentences))
    return tuple(map(sys.intern, tokens))
