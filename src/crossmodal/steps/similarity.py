"""How similar a run finds the first items of the test split: each against each, as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from crossmodal.evaluation.embedded import read_embedded
from crossmodal.evaluation.figures import draw_matrix
from crossmodal.evaluation.retrieval import Pool

ITEMS = 100


def similarity(spec: dict[str, Any], output: Path, embeddings: Path) -> None:
    """Draw the scores of the first items, one row of each view, figure 8 of Cheng et al. 2022.

    Args:
        spec: `title` of the figure.
        output: The SVG.
        embeddings: Embedding file of the run.

    Raises:
        CrossmodalError: If the embedding file is missing or damaged.
    """
    embedded = read_embedded(embeddings)
    (first, queries), (second, gallery) = embedded.splits["test"].items()
    scores = embedded.method.score(_first_rows(queries), _first_rows(gallery), (first, second))
    draw_matrix(output, scores, spec["title"], (f"number of the {second}", f"of the {first}"))


def _first_rows(pool: Pool) -> np.ndarray:
    """Embedding of one row of each of the first items, in their order."""
    _, rows = np.unique(pool.items, return_index=True)
    return pool.embeddings[rows[:ITEMS]]
