"""Matrix of a run's scores: the first items of the test split, each against each."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crossmodal.reporting.figures import Points, draw_matrix
from crossmodal.workflow.report_specs import Similarity

if TYPE_CHECKING:
    from crossmodal.metrics.retrieval import Pool

ITEMS = 100


def draw_similarity(spec: Similarity, output: Path, inputs: list[Path]) -> Points:
    """Draw the scores of the first items, one row of each view, figure 8 of Cheng et al. 2022.

    Args:
        spec: Title of the figure.
        output: The SVG, beside which a PDF is written.
        inputs: Embedding file of the run.

    Returns:
        The scores: a row for each item of the first view, a column for each of the second one.

    Raises:
        CrossmodalError: If the embedding file is corrupt.
    """
    from crossmodal.models.embedding_file import read_embeddings  # slow, as is SciPy in it

    (embeddings,) = inputs
    embedded = read_embeddings(embeddings)
    (first, queries), (second, gallery) = embedded.splits["test"].items()
    scores = embedded.method.score(_first_rows(queries), _first_rows(gallery), (first, second))
    draw_matrix(output, scores, spec.title, (f"number of the {second}", f"of the {first}"))
    return [*map(str, range(scores.shape[1]))], scores.tolist()


def _first_rows(pool: "Pool") -> np.ndarray:
    """Return the embedding of one row of each of the first items, in their order."""
    _, rows = np.unique(pool.items, return_index=True)
    return pool.embeddings[rows[:ITEMS]]
