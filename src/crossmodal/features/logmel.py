"""Log-mel energies or cepstral coefficients, 100 frames a second."""

from collections.abc import Sequence

import numpy as np

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items
from crossmodal.features._mel import MelFeature


class LogMel(MelFeature):
    """Sequences float16 (frames, 40); captions without audio have no row."""

    shape = "sequence"

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Decode each clip and compute its frames."""
        return [frames.half().numpy() for frames in self.spectrograms(dataset, rows)]
