"""Captions as sequences of word ids.

A caption is cut into sentences and these into words and punctuation marks as NLTK does, with
regular expressions alone: its sentence model, a download, is not needed for captions.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from crossmodal.errors import CrossmodalError
from crossmodal.features.base import Feature
from crossmodal.prepared import Caption, Prepared
from crossmodal.store import FeatureFile

PAD, UNKNOWN, END, BEGIN = range(4)
SPECIAL = ["<pad>", "<unk>", "<eos>", "<bos>"]
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Tokens(Feature):
    """Sequences of int32 ids: 0 pads, 1 is any unknown word, 2 ends and 3 begins a caption.

    Captions without text have no row.

    Args:
        fit_on: Splits whose captions make the vocabulary.
        min_count: A word must occur this often in them.
        lower: Turn captions to lower case.
        bos: Put the id 3 before the words.
        eos: Put the id 2 after the words.
    """

    modality = "text"
    unit = "caption"
    reads = ("items.csv", "captions.csv", "splits.csv")

    def __init__(
        self,
        fit_on: Annotated[list[Literal["train", "validation"]], Field(min_length=1)],
        min_count: Annotated[int, Field(ge=1)],
        lower: bool,
        bos: bool,
        eos: bool,
    ) -> None:
        self.fit_on, self.min_count, self.lower = fit_on, min_count, lower
        self.before, self.after = [BEGIN] * bos, [END] * eos

    def rows(self, dataset: Prepared) -> list[Caption]:
        """Captions that have text."""
        rows = [caption for caption in dataset.captions if caption.text.strip()]
        if not rows:
            raise CrossmodalError(f"{dataset.folder / 'captions.csv'}: no caption has text")
        return rows

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Collect the words, the most frequent first, ties by the alphabet."""
        counts = Counter(
            word
            for caption in self.rows(dataset)
            if dataset.splits[caption.item] in self.fit_on
            for word in tokenise(caption.text, self.lower)
        )
        words = [word for word, count in counts.items() if count >= self.min_count]
        self.vocabulary = SPECIAL + sorted(words, key=lambda word: (-counts[word], word))
        self.ids = {word: id for id, word in enumerate(self.vocabulary)}

    def extract(
        self, dataset: Prepared, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Ids of the words of each caption."""
        return [self._encode(tokenise(row.text, self.lower)) for row in rows]

    def _encode(self, words: list[str]) -> np.ndarray:
        ids = [self.ids.get(word, UNKNOWN) for word in words]
        return np.array(self.before + ids + self.after, np.int32)

    def learnt(self) -> dict[str, Any]:
        """The vocabulary: its position is a word's id."""
        return {"vocabulary": self.vocabulary}


def tokenise(text: str, lower: bool) -> list[str]:
    """Words and punctuation marks of a text."""
    from nltk.tokenize import NLTKWordTokenizer

    text = unicodedata.normalize("NFKC", text).strip()
    sentences = SENTENCE_END.split(text.lower() if lower else text)
    return [word for sentence in sentences for word in NLTKWordTokenizer().tokenize(sentence)]
