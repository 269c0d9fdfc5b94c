"""fast-CMOLRS: one low-rank bilinear score per direction, learnt online from lists of triplets.

    s(x, d) = x' A B' d
    loss = sum over J triplets of one query of max(0, margin(d+, d-) - (s(x, d+) - s(x, d-)))

Source: Wu, Wang, Huang, Online fast adaptive low-rank similarity learning for cross-modal
retrieval, IEEE TMM 22(5), 2020, algorithm 3.
"""

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from crossmodal.data import Split, View
from crossmodal.methods.base import Direction, Method, Run
from crossmodal.online.hinge import Margin
from crossmodal.online.loreta import Learner, Options
from crossmodal.online.preprocessing import Normalise, fit_preprocessing, preprocess
from crossmodal.online.triplets import make_sampler
from crossmodal.progress import track

CHUNKS = 100


class FastCMOLRS(Method):
    """Learns the two directions independently; the last iterate is the model.

    An embedding is the projection by the first direction's factor followed by the second's. The
    first direction is the one whose query modality comes first in the alphabet.

    Args:
        rank: k of both models, at most the smaller number of dimensions after PCA.
        step_size: eta > 0. It and `margin_scale` depend on the scaling of the features.
        margin_scale: beta > 0.
        feature_weight: alpha, share of the feature distance in the margin, 0 to 1.
        triplets_per_query: J >= 1, triplets that make one step.
        triplets: Triplets to learn from in each direction.
        normalise: Scaling of the features; see `fit_preprocessing`.
        pca_energy: Share of the variance that PCA keeps, (0, 1]; None: no PCA.
    """

    task: ClassVar[Literal["category", "instance"]] = "category"

    def __init__(
        self,
        rank: Annotated[int, Field(gt=0)],
        step_size: Annotated[float, Field(gt=0)],
        margin_scale: Annotated[float, Field(gt=0)],
        feature_weight: Annotated[float, Field(ge=0, le=1)],
        triplets_per_query: Annotated[int, Field(gt=0)],
        triplets: Annotated[int, Field(gt=0)],
        normalise: Normalise,
        pca_energy: Annotated[float, Field(gt=0, le=1)] | None,
    ) -> None:
        self.options = Options(
            rank, step_size, triplets_per_query, Margin(margin_scale, feature_weight)
        )
        self.triplets = triplets
        self.normalise = normalise
        self.pca_energy = pca_energy
        self.arrays = {}

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both directions side by side; `validation` is not used."""
        modalities = sorted(train.two_views())
        self.arrays = {}
        features = {name: self._fit_features(name, train.views[name]) for name in modalities}
        labels = {name: train.labels[train.views[name].items] for name in modalities}
        learners = {
            (query, document): Learner.start(
                features[query],
                features[document],
                make_sampler(labels[query], labels[document]),
                self.options,
                np.random.default_rng([run.seed, number]),
                np.float64,  # pseudo-inverses in float32 drift when the step size is large
            )
            for number, (query, document) in enumerate([modalities, modalities[::-1]])
        }
        self._learn(learners, run)
        first, second = (learner.factors for learner in learners.values())
        factors = [first.query, second.document], [first.document, second.query]
        for modality, pair in zip(modalities, factors, strict=True):
            self.arrays[f"{modality}.factors"] = np.hstack(pair).astype(np.float32)

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Projections [x A_1 | x A_2] of the rows, (rows, 2 rank)."""
        rows = preprocess(view.vectors(), self._of(modality))
        return rows @ self.arrays[f"{modality}.factors"]

    @staticmethod
    def score(queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Bilinear scores (q, g) by the model of the direction."""
        rank = queries.shape[1] // 2
        half = slice(rank) if direction[0] < direction[1] else slice(rank, None)
        return queries[:, half] @ gallery[:, half].T

    def _fit_features(self, modality: str, view: View) -> np.ndarray:
        rows = view.vectors()
        statistics = fit_preprocessing(rows, self.normalise, self.pca_energy)
        self.arrays |= {f"{modality}.{name}": value for name, value in statistics.items()}
        return preprocess(rows, statistics)

    def _of(self, modality: str) -> dict[str, np.ndarray]:
        """The arrays of one modality, by their names within it."""
        prefix = f"{modality}."
        return {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}

    def _learn(self, learners: dict[Direction, Learner], run: Run) -> None:
        """Learn from all triplets; each chunk adds a row to the learning curve."""
        length = self.options.triplets_per_query
        lists = -(-self.triplets // length)
        ends = np.unique(np.linspace(0, lists, CHUNKS + 1, dtype=int))
        for start, end in track(pairwise(ends), len(ends) - 1, run.label):
            row = {"triplets": float(end * length)}
            for (query, document), learner in learners.items():
                loss, violating = learner.advance(int(end - start))
                row[f"{query}->{document} loss"] = loss
                row[f"{query}->{document} violating"] = violating
            run.curve.append(row)
