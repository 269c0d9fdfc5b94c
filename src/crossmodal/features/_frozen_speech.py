"""Base class of features of clips that a frozen network computes."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items
from crossmodal.features._frozen import FrozenFeature
from crossmodal.features._speech import SpeechFeature
from crossmodal.io.sound_files import read_speech


class FrozenSpeechFeature(FrozenFeature, SpeechFeature):
    """A vector or sequence of each clip."""

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> np.ndarray | list[np.ndarray]:
        """Run the network on one clip at a time; on a CPU, on several at once."""
        clips = (read_speech(dataset.read(row.audio), dataset.where(row.audio)) for row in rows)
        arrays = self.each(self._row, clips)
        return arrays if self.shape == "sequence" else np.stack(arrays)

    @abstractmethod
    def _row(self, clip: torch.Tensor) -> np.ndarray:
        """Return the row of a clip (samples,)."""
