"""Captions as sequences of word ids; see `features._vocabulary` for what a word is."""

from collections.abc import Sequence

import numpy as np

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items
from crossmodal.features._vocabulary import BEGIN, END, VocabularyFeature


class Tokens(VocabularyFeature):
    """Sequences of int32 ids: 0 pads, 1 is any unknown word, 2 ends and 3 begins a caption."""

    shape = "sequence"

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Return the ids of the words of each caption, with the marks."""
        begin = [BEGIN] * self.options.bos
        return [np.array([*begin, *ids, END], np.int32) for ids in self.word_ids(rows)]
