"""A fixed number of the rows of a stream, each with the same probability.

Source: Vitter, Random sampling with a reservoir, ACM TOMS 11(1), 1985, algorithm R.
"""

import numpy as np

from crossmodal.methods._online import random_state

SIZE = 1000  # rows


class Reservoir:
    """Uniform sample of all rows that were added.

    Args:
        rng: Draws the rows.

    Attributes:
        rows: Features, (n, d).
        labels: Their labels, (n, C) bool.
        seen: Number of rows that were added.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.rows, self.labels, self.seen = rng, np.empty((0, 0)), np.empty((0, 0)), 0

    def add(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """Add rows of a stream.

        Args:
            rows: Features, (n, d).
            labels: Labels, (n, C) bool; the first columns are those of earlier rows.
        """
        places = np.arange(self.seen, self.seen + len(rows))
        late = places >= SIZE
        places[late] = self.rng.integers(0, places[late] + 1)
        self.rows, self.labels = self.with_rows(rows[:0], labels[:0])
        room = min(SIZE, self.seen + len(rows)) - len(self.rows)
        self.rows = np.concatenate([self.rows, np.empty((room, rows.shape[1]), rows.dtype)])
        self.labels = np.concatenate([self.labels, np.empty((room, labels.shape[1]), bool)])
        for place, row, its in zip(places, rows, labels, strict=True):
            if place < SIZE:
                self.rows[place], self.labels[place] = row, its
        self.seen += len(rows)

    def with_rows(self, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features and labels of the sample, and of further rows behind it."""
        if not len(self.rows):
            return rows, labels
        padded = np.pad(self.labels, ((0, 0), (0, labels.shape[1] - self.labels.shape[1])))
        return np.concatenate([self.rows, rows]), np.concatenate([padded, labels])

    def state(self) -> dict[str, np.ndarray]:
        """Return all that later rows depend on; `restore` resumes from it exactly."""
        seen, rng = np.array(self.seen), random_state.to_array(self.rng)
        return {"rows": self.rows, "labels": self.labels, "seen": seen, "rng": rng}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        self.rows, self.labels, self.seen = state["rows"], state["labels"], int(state["seen"])
        random_state.restore(self.rng, state["rng"])
