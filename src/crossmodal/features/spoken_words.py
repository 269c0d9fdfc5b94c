"""The frames of each word of a spoken caption, by the times of a forced alignment.

A row is the log-mel frames of its words, one word after the other. Each frame has two more columns:
its number in the word, from 0, and the number of the word in the vocabulary of the training split,
0 for a word that is not in it. Single words of at most a second as input: Harwath and Glass,
ASRU 2015.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items, Prepared
from crossmodal.data.word_times import MEMBER, SpokenWord, Times, from_bytes, read_file
from crossmodal.errors import CrossmodalError
from crossmodal.features._mel import MelFeature
from crossmodal.io.files import DAMAGE, JsonObject

RATE = 100  # frames a second
LARGEST = 2047  # vocabulary: float16 has all whole numbers up to 2048


class SpokenWords(MelFeature):
    """Sequences float16 (frames of all words, 42); captions without a word in time have no row."""

    class Options(MelFeature.Options):
        alignment: str | None = Field(
            None,
            description="Path of a CSV of caption, word, start and end in seconds; null: the times "
            "that the dataset has, see `word_times` of scenes and flickr8k.",
        )
        word_frames: int = Field(
            100, ge=1, le=2048, description="Maximal number of frames of a word; more are cut."
        )
        vocabulary: int = Field(
            LARGEST, ge=1, le=LARGEST, description="Most frequent words that have a number."
        )

    options: Options
    shape = "sequence"
    reads = ("captions.csv", "splits.csv", "media.zip")

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.files = (self.options.alignment,) if self.options.alignment else ()

    def rows(self, dataset: Items) -> list[Caption]:
        """Return the captions whose audio has at least a word."""
        times = self._times(dataset)
        rows = [caption for caption in super().rows(dataset) if caption.id in times]
        if not rows:
            where = self.options.alignment or dataset.where(MEMBER)
            raise CrossmodalError(f"{where}: has words of none of the captions of {dataset.name}")
        return rows

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Number the words of the training split, the most frequent first, ties by the alphabet."""
        times = self._times(dataset)
        train = (row for row in self.rows(dataset) if dataset.splits[row.item] == "train")
        counts = Counter(word.text for row in train for word in times[row.id])
        frequent = sorted(counts, key=lambda word: (-counts[word], word))
        self._learn(frequent[: self.options.vocabulary])

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Decode each clip and cut its frames into words."""
        times = self._times(dataset)
        clips = zip(rows, self.spectrograms(dataset, rows), strict=True)
        return [self._words(frames.numpy(), times[row.id]) for row, frames in clips]

    def learnt(self) -> JsonObject:
        """Return the vocabulary; a word's number is its position, from 1."""
        return {"vocabulary": self.vocabulary}

    def restore(self, learnt: JsonObject) -> None:
        """Take over the vocabulary."""
        self._learn(learnt["vocabulary"])

    def _learn(self, vocabulary: list[str]) -> None:
        self.vocabulary = vocabulary
        self._numbers = {word: number for number, word in enumerate(vocabulary, 1)}

    def _words(self, frames: np.ndarray, words: Sequence[SpokenWord]) -> np.ndarray:
        """Return the frames (t, 42) of some words of a clip; one behind its end has the last."""
        parts = []
        for word in words:
            start = min(round(RATE * word.start), len(frames) - 1)
            stop = min(max(round(RATE * word.end), start + 1), start + self.options.word_frames)
            part = frames[start:stop]
            number = np.full(len(part), self._numbers.get(word.text, 0))
            parts.append(np.column_stack([part, np.arange(len(part)), number]))
        return np.concatenate(parts).astype(np.float16)

    def _times(self, dataset: Items) -> Times:
        """Return the words of each caption.

        Raises:
            CrossmodalError: If there are none.
        """
        return self._own_times if self.options.alignment else _times_of(dataset)

    @cached_property
    def _own_times(self) -> Times:
        return read_file(Path(self.options.alignment or ""))


@lru_cache(maxsize=1)  # every chunk asks
def _times_of(dataset: Items) -> Times:
    """Return the times that a dataset has."""
    try:
        return from_bytes(dataset.read(MEMBER))
    except (CrossmodalError, *DAMAGE) as error:
        raise CrossmodalError(
            f"{dataset.where(MEMBER)}: no times of words ({error}); set `alignment` of the feature "
            "to a CSV of them, or `word_times` of a dataset that is synthesised to true"
        ) from error
