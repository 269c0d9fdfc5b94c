"""Methods that learn two bilinear scores online, one for each direction of retrieval."""

import time
from abc import abstractmethod
from itertools import pairwise
from typing import Literal

import numpy as np
from pydantic import Field

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split, View
from crossmodal.io.progress import track
from crossmodal.io.snapshots import Snapshot
from crossmodal.learning.curve import by_direction
from crossmodal.learning.method import Direction, Method, Run
from crossmodal.learning.selection import direction_metrics, pools
from crossmodal.methods._online.hinge import Margin
from crossmodal.methods._online.learner import Learner
from crossmodal.methods._online.loop import Batch, Hyperparameters
from crossmodal.methods._online.preprocessing import Preprocessing, PreprocessingOptions
from crossmodal.methods._online.reservoir import Reservoir
from crossmodal.methods._online.triplets import Negatives, draws_triplets, make_sampler
from crossmodal.plugin import Count, NotNegative, Positive, Share

CHUNKS = 20  # rows of the learning curve
PROGRESS = "progress."  # begins the names of what only learning needs

Model = Literal["first", "second"]


class Bidirectional(Method):
    """Two models, learnt independently from a stream of triplets; the last iterates are kept.

    An embedding is the projection by the first direction's factor followed by the second's. The
    first direction is the one whose query modality comes first in the alphabet.

    Attributes:
        learners: Model of each direction (query modality, document modality).
        reservoirs: Rows of each modality that `partial_fit` has seen.
    """

    class Options(PreprocessingOptions):
        step_size: Positive = Field(
            description="Step size eta; it and the margins depend on the scaling of the features."
        )
        margin_scale: NotNegative = Field(
            description="Weight beta of the distance between both documents in the margin."
        )
        margin_base: NotNegative = Field(
            0.0, description="Constant part of the margin; the paper has none."
        )
        feature_weight: Share = Field(
            description="Weight alpha of the feature distance in the margin; the label distance "
            "has weight 1 - alpha."
        )
        negatives: Negatives = Field(
            "released",
            description="Of the half of the triplets whose negative need not be without a shared "
            "label: 'released', any document that shares fewer labels than the positive, mostly "
            "none; 'published', one that shares some.",
        )
        triplets_per_query: Count = Field(description="Triplets J of one query that make a step.")
        triplets: Count = Field(description="Triplets to learn from in each direction.")

    options: Options

    task = "category"
    progress: dict[str, np.ndarray]

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._forget()

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Return the options as the learners take them."""
        options = self.options
        margin = Margin(options.margin_scale, options.feature_weight, options.margin_base)
        return Hyperparameters(options.step_size, options.triplets_per_query, margin)

    @property
    def intra_modal(self) -> Model:
        """Return the direction whose factors serve intra-modal retrieval."""
        return "first"

    @abstractmethod
    def start(self, widths: tuple[int, int], rng: np.random.Generator) -> Learner:
        """Make a new model for queries and documents of these dimensions."""

    @abstractmethod
    def resume(self, factors: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> Learner:
        """Make a model that resumes from stored factors A (p, k) and B (q, k)."""

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both directions side by side; `validation` serves the learning curve alone.

        Raises:
            CrossmodalError: If labels do not tell items apart, a view has no vectors, or a model
                diverges.
        """
        require_labels(train, negatives=True)
        self._forget()
        snapshot = Snapshot(run.checkpoints)
        if saved := snapshot.load():
            self.progress, run.curve[:] = saved[0], saved[1]["curve"]
        features, labels = self._rows(train)
        batches = {
            (query, document): Batch(
                features[query],
                features[document],
                make_sampler(labels[query], labels[document], self.options.negatives),
            )
            for query, document in self._begin(features, run.seed)
        }
        length = self.options.triplets_per_query
        ends = np.unique(np.linspace(0, -(-self.options.triplets // length), CHUNKS + 1, dtype=int))
        done = len(run.curve)
        for start, end in track(pairwise(ends[done:]), len(ends) - 1, run.label, done):
            means = self._learn(batches, int(end - start))
            before = run.curve[-1] if run.curve else {}
            seconds = {k: v + before.get(k, 0) for k, v in means.items() if k.startswith("seconds")}
            row = {"triplets": float(end * length)} | means | seconds
            run.curve.append(row | self._validate(validation))
            snapshot.save_if_due(lambda: (self._progress(), {"curve": run.curve}))
        self._keep_factors()

    def partial_fit(self, items: Split, triplets: int, run: Run) -> dict[str, float]:
        """Learn from further items, one or many, as they come; the first ones fix the scaling too.

        The new rows are the queries; documents are they and a reservoir of earlier ones. A
        direction without triplets, as long as all labels are the same, waits for other items.

        Args:
            items: Labelled items of two views; their first labels are those of earlier items.
            triplets: To be drawn from them in each direction.
            run: Its seed starts the stream.

        Returns:
            Mean `loss`, share of `violating` triplets and the processor's `seconds`, of both
            directions and of each.
        """
        features, labels = self._rows(items)
        batches = {}
        for query, document in self._begin(features, run.seed):
            rows, known_labels = self.reservoirs[document].with_rows(
                features[document], labels[document]
            )
            if draws_triplets(labels[query], known_labels):
                sampler = make_sampler(labels[query], known_labels, self.options.negatives)
                batches[query, document] = Batch(features[query], rows, sampler)
        means = self._learn(batches, -(-triplets // self.options.triplets_per_query))
        for modality, reservoir in self.reservoirs.items():
            reservoir.add(features[modality], labels[modality])
        return means

    def state(self) -> dict[str, np.ndarray]:
        """Return what `embed` needs, and what learning resumes from exactly."""
        return self.arrays | {f"{PROGRESS}{k}": v for k, v in self._progress().items()}

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Take over a stored state; `partial_fit` resumes from it."""
        self._forget()
        self.progress = _named(PROGRESS, state)
        self.arrays = {k: v for k, v in state.items() if not k.startswith(PROGRESS)}

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return projections [x A_1 | x A_2] of the rows, (rows, 2 k)."""
        rows = self._scaled(modality, view)
        return rows @ self.arrays[f"{modality}.factors"]

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return bilinear scores (q, g) by the model of the direction."""
        first, second = direction
        forward = first < second or (first == second and self.intra_modal == "first")
        rank = queries.shape[1] // 2
        half = slice(rank) if forward else slice(rank, None)
        return queries[:, half] @ gallery[:, half].T

    def map_part(self, embeddings: np.ndarray) -> np.ndarray:
        """Return the half of the second direction, text to image: figure 6 of the paper."""
        return np.hsplit(embeddings, 2)[1]

    def _forget(self) -> None:
        """Reset the state."""
        self.arrays: dict[str, np.ndarray] = {}
        self.learners: dict[Direction, Learner] = {}
        self.reservoirs: dict[str, Reservoir] = {}
        self.progress = {}  # of models that are not made yet

    def _rows(self, items: Split) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return scaled rows and labels of both modalities."""
        views = {name: items.two_views()[name] for name in sorted(items.views)}
        features = {name: self._features(name, view) for name, view in views.items()}
        return features, {name: items.labels[view.items] for name, view in views.items()}

    def _begin(self, features: dict[str, np.ndarray], seed: int) -> list[Direction]:
        """Return both directions; make models and reservoirs where there are none yet."""
        first, second = features
        directions = [(first, second), (second, first)]
        for number, direction in enumerate(directions if not self.learners else []):
            query, document = direction
            widths = (features[query].shape[1], features[document].shape[1])
            learner = self._learner(direction, widths, np.random.default_rng([seed, number]))
            reservoir = Reservoir(np.random.default_rng([seed, number, 1]))
            for part, name in ((learner, "model"), (reservoir, "reservoir")):
                if state := _named(f"{query}.{name}.", self.progress):
                    part.restore(state)
            self.learners[direction], self.reservoirs[query] = learner, reservoir
        return directions

    def _learner(
        self, direction: Direction, widths: tuple[int, int], rng: np.random.Generator
    ) -> Learner:
        """Make a new model, or one from the factors that were restored."""
        if f"{direction[0]}.factors" not in self.arrays:
            return self.start(widths, rng)
        halves = [np.hsplit(self.arrays[f"{name}.factors"], 2) for name in direction]
        query, document = (half[direction[0] > direction[1]] for half in halves)
        return self.resume((query.astype(float), document.astype(float)), rng)

    def _features(self, modality: str, view: View) -> np.ndarray:
        """Return scaled rows; the first rows that come fit the scaling."""
        rows = view.vectors()
        if f"{modality}.mean" not in self.arrays:
            fitted = Preprocessing.fit(rows, self.options).state()
            self.arrays |= {f"{modality}.{name}": value for name, value in fitted.items()}
        return self._scaled(modality, view)

    def _scaled(self, modality: str, view: View) -> np.ndarray:
        """Return the rows that are learnt from."""
        preprocessing = Preprocessing(self.options.scaling, _named(f"{modality}.", self.arrays))
        return preprocessing.transform(view.vectors())

    def _learn(self, batches: dict[Direction, Batch], lists: int) -> dict[str, float]:
        """Learn that many lists in each direction; means over both, and processor's seconds."""
        learning = {pair: self.learners[pair] for pair in batches}
        for pair, learner in learning.items():
            learner.learn(batches[pair], (0, 0))  # compiles, which is not learning
        means, seconds = [], {}
        for pair, learner in learning.items():
            start = time.thread_time()  # of the processor, so that other jobs do not count
            means.append(learner.partial_fit(batches[pair], lists))
            seconds[pair] = time.thread_time() - start
        self._keep_factors()
        loss, violating = np.mean(means, axis=0) if means else (0.0, 0.0)
        row = {"loss": float(loss), "violating": float(violating), "seconds": sum(seconds.values())}
        return row | by_direction("seconds", seconds)

    def _validate(self, validation: Split) -> dict[str, float]:
        """Compute mAP on the validation split: the mean of both directions, and of each."""
        metrics = direction_metrics(self, pools(self, validation))
        precisions = {pair: m["mAP"] for pair, m in metrics.items()}
        row = {"validation": sum(precisions.values()) / len(precisions)}
        return row | by_direction("validation", precisions)

    def _progress(self) -> dict[str, np.ndarray]:
        """Return models, reservoirs, counts and random numbers, by query modality."""
        progress = {} if self.learners else dict(self.progress)
        for (query, _), learner in self.learners.items():
            progress |= {f"{query}.model.{k}": v for k, v in learner.state().items()}
        for query, reservoir in self.reservoirs.items():
            if reservoir.seen:
                progress |= {f"{query}.reservoir.{k}": v for k, v in reservoir.state().items()}
        return progress

    def _keep_factors(self) -> None:
        """Store what `embed` and `state` need of the models."""
        (modality, other), _ = self.learners
        forward, backward = (learner.factors() for learner in self.learners.values())
        for name, pair in (
            (modality, (forward[0], backward[1])),
            (other, (forward[1], backward[0])),
        ):
            self.arrays[f"{name}.factors"] = np.hstack(pair).astype(np.float32)


def _named(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
