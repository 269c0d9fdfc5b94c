"""Methods that learn two bilinear scores online, one for each direction of retrieval."""

import time
from abc import abstractmethod
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from crossmodal.data import Split, View
from crossmodal.evaluation.selection import selection_score
from crossmodal.methods.base import Direction, Method, Run
from crossmodal.online.checkpoint import Checkpoint
from crossmodal.online.learner import Batch, Learner, Options
from crossmodal.online.preprocessing import Normalise, fit_preprocessing, preprocess
from crossmodal.online.triplets import make_sampler
from crossmodal.progress import track

CHUNKS = 20  # rows of the learning curve

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(gt=0)]
Energy = Annotated[float, Field(gt=0, le=1)] | None
Model = Literal["first", "second"]


class Bidirectional(Method):
    """Two models, learnt independently from a stream of triplets; the last iterates are kept.

    An embedding is the projection by the first direction's factor followed by the second's. The
    first direction is the one whose query modality comes first in the alphabet.

    Args:
        options: Options of learning.
        triplets: Triplets to learn from in each direction.
        normalise: Scaling of the features; see `fit_preprocessing`.
        pca_energy: Share of the variance that PCA keeps, (0, 1]; None: no PCA.

    Attributes:
        within: Whose factors serve retrieval within a modality: the 'first' direction's or the
            'second' one's.
    """

    task = "category"
    within: Model = "first"

    def __init__(
        self, options: Options, triplets: int, normalise: Normalise, pca_energy: float | None
    ) -> None:
        self.options = options
        self.triplets = triplets
        self.normalise = normalise
        self.pca_energy = pca_energy
        self.arrays = {}
        self.learners: dict[Direction, Learner] = {}

    @abstractmethod
    def start(self, widths: tuple[int, int], rng: np.random.Generator) -> Learner:
        """A new model for queries and documents of these dimensions."""

    @abstractmethod
    def resume(self, factors: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> Learner:
        """A model that goes on from stored factors A (p, k) and B (q, k)."""

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both directions side by side; `validation` is only looked at for the curve."""
        self.arrays, self.learners = {}, {}
        batches = self._batches(train, run.seed)
        length = self.options.triplets_per_query
        ends = np.unique(np.linspace(0, -(-self.triplets // length), CHUNKS + 1, dtype=int))
        checkpoint = Checkpoint(self.learners, run)
        done = len(run.curve)
        for start, end in track(pairwise(ends[done:]), len(ends) - 1, run.label, done):
            row = {"triplets": float(end * length)} | self._learn(batches, int(end - start))
            row["validation"] = selection_score(self, validation)
            row["seconds"] += run.curve[-1]["seconds"] if run.curve else 0
            run.curve.append(row)
            checkpoint.save_if_due()
        self._keep_factors()

    def partial_fit(self, items: Split, triplets: int, run: Run) -> dict[str, float]:
        """Learn from further items, as they come; the first ones fix the scaling as well.

        Args:
            items: Labelled items of two views, of the same labels each time.
            triplets: To be drawn from them in each direction.
            run: Its seed starts the stream.

        Returns:
            Mean `loss`, share of `violating` triplets and the `seconds` it took.
        """
        batches = self._batches(items, run.seed)
        return self._learn(batches, -(-triplets // self.options.triplets_per_query))

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Projections [x A_1 | x A_2] of the rows, (rows, 2 k)."""
        rows = preprocess(view.vectors(), self._of(modality))
        return rows @ self.arrays[f"{modality}.factors"]

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Bilinear scores (q, g) by the model of the direction."""
        first, second = direction
        forward = first < second or (first == second and self.within == "first")
        rank = queries.shape[1] // 2
        half = slice(rank) if forward else slice(rank, None)
        return queries[:, half] @ gallery[:, half].T

    def _batches(self, items: Split, seed: int) -> dict[Direction, Batch]:
        """What each direction learns from; a model to learn it where there is none yet."""
        first, second = sorted(items.two_views())
        features = {name: self._features(name, items.views[name]) for name in (first, second)}
        labels = {name: items.labels[items.views[name].items] for name in (first, second)}
        batches = {
            (query, document): Batch(
                features[query],
                features[document],
                make_sampler(labels[query], labels[document]),
            )
            for query, document in ((first, second), (second, first))
        }
        for number, (direction, batch) in enumerate(batches.items()):
            if direction not in self.learners:
                rng = np.random.default_rng([seed, number])
                self.learners[direction] = self._learner(direction, batch, rng)
        return batches

    def _learner(self, direction: Direction, batch: Batch, rng: np.random.Generator) -> Learner:
        """A new model, or one from the factors that were restored."""
        if f"{direction[0]}.factors" not in self.arrays:
            return self.start((batch.queries.shape[1], batch.documents.shape[1]), rng)
        halves = [np.hsplit(self.arrays[f"{name}.factors"], 2) for name in direction]
        query, document = (half[direction[0] > direction[1]] for half in halves)
        return self.resume((query.astype(float), document.astype(float)), rng)

    def _features(self, modality: str, view: View) -> np.ndarray:
        """Scaled rows; what the scaling needs is fitted on the first rows that come."""
        rows = view.vectors()
        if f"{modality}.mean" not in self.arrays:
            found = fit_preprocessing(rows, self.normalise, self.pca_energy)
            self.arrays |= {f"{modality}.{name}": value for name, value in found.items()}
        return preprocess(rows, self._of(modality))

    def _of(self, modality: str) -> dict[str, np.ndarray]:
        """The arrays of one modality, by their names within it."""
        prefix = f"{modality}."
        return {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}

    def _learn(self, batches: dict[Direction, Batch], lists: int) -> dict[str, float]:
        """Learn so many lists in each direction; means over both, and the seconds of both."""
        for direction, learner in self.learners.items():
            learner.learn(batches[direction], (0, 0))  # compiles, which is not learning
        start = time.perf_counter()
        found = [m.partial_fit(batches[pair], lists) for pair, m in self.learners.items()]
        seconds = time.perf_counter() - start
        self._keep_factors()
        loss, violating = np.mean(found, axis=0)
        return {"loss": float(loss), "violating": float(violating), "seconds": seconds}

    def _keep_factors(self) -> None:
        """Put the models where `embed` and `state` find them."""
        (modality, other), _ = self.learners
        forward, backward = (learner.factors() for learner in self.learners.values())
        for name, pair in (
            (modality, (forward[0], backward[1])),
            (other, (forward[1], backward[0])),
        ):
            self.arrays[f"{name}.factors"] = np.hstack(pair).astype(np.float32)
