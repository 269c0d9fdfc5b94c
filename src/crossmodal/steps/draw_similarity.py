"""Matrix of a run's scores: the first items of the test split, each against each."""

from pathlib import Path
from typing import Any

import numpy as np

from crossmodal.metrics.retrieval import Pool
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.figures import draw_matrix
from crossmodal.workflow.records import verified

ITEMS = 100


def draw_similarity(spec: dict[str, Any], output: Path, embeddings: Path) -> None:
    """Draw the scores of the first items, one row of each view, figure 8 of Cheng et al. 2022.

    Args:
        spec: `title` of the figure.
        output: The SVG.
        embeddings: Embedding file of the run.

    Raises:
        CrossmodalError: If the embedding file is missing or corrupt.
    """
    verified([embeddings])
    embedded = read_embeddings(embeddings)
    (first, queries), (second, gallery) = embedded.splits["test"].items()
    scores = embedded.method.score(_first_rows(queries), _first_rows(gallery), (first, second))
    draw_matrix(output, scores, spec["title"], (f"number of the {second}", f"of the {first}"))


def _first_rows(pool: Pool) -> np.ndarray:
    """Embedding of one row of each of the first items, in their order."""
    _, rows = np.unique(pool.items, return_index=True)
    return pool.embeddings[rows[:ITEMS]]
