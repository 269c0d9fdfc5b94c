"""Speech as one vector: statistics of the log-mel frames in equal parts of the clip.

For part p of P, frames t in T_p and filter k,

    m_pk = mean_t x_tk        s_pk = (mean_t (x_tk - m_pk)^2)^1/2

side by side, each column then standardised by the training split. Parts keep the order of sounds,
which the statistics of a whole clip lose.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Items, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.features._mel import MelFeature
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Count


class LogMelStatistics(MelFeature):
    """Means and deviations, float32 (n, parts x 2 x 40); captions without audio have no row."""

    class Options(MelFeature.Options):
        parts: Count = Field(description="Parts P of equal length that a clip is divided into.")

    options: Options
    reads = ("captions.csv", "splits.csv", "media.zip")

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Compute the statistics of the training clips' statistics."""
        train = [row for row in self.rows(dataset) if dataset.splits[row.item] == "train"]
        if not train:
            raise CrossmodalError(f"{dataset.name}: no training caption has audio")
        rows = self._statistics(dataset, train)
        self.mean, self.deviation = rows.mean(axis=0), rows.std(axis=0)
        self.deviation[self.deviation == 0] = 1

    def extract(
        self, dataset: Items, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Decode each clip, summarise its frames, standardise."""
        return ((self._statistics(dataset, rows) - self.mean) / self.deviation).astype(np.float32)

    def learnt(self) -> JsonObject:
        """Return the mean and deviation of each column."""
        return {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    def restore(self, learnt: JsonObject) -> None:
        """Take over what standardises the columns."""
        self.mean, self.deviation = np.array(learnt["mean"]), np.array(learnt["deviation"])

    def _statistics(self, dataset: Items, rows: Sequence[Caption]) -> np.ndarray:
        """Return the statistics of some clips, float64 (n, parts x 2 x 40)."""
        clips = self.spectrograms(dataset, rows)
        return np.stack([self._summary(frames.numpy()) for frames in clips])

    def _summary(self, frames: np.ndarray) -> np.ndarray:
        """Return statistics of one clip; parts of a very short one share frames."""
        count, frames = self.options.parts, frames.astype(np.float64)
        parts = [
            frames[part * len(frames) // count : -(-(part + 1) * len(frames) // count)]
            for part in range(count)
        ]
        return np.concatenate([s for part in parts for s in (part.mean(axis=0), part.std(axis=0))])
