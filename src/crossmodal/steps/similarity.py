"""How similar a run finds the first items of the test split: each against each, as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from crossmodal import plugins
from crossmodal.evaluation.figures import draw_matrix
from crossmodal.evaluation.retrieval import Pool
from crossmodal.methods.base import Method
from crossmodal.steps.evaluate import read_pools

ITEMS = 100


def similarity(spec: dict[str, Any], output: Path, embeddings: Path) -> None:
    """Draw the scores of the first items, one row of each view, figure 8 of Cheng et al. 2022.

    Args:
        spec: `plugin` of the method, `title` of the figure; options come with the embeddings.
        output: The SVG.
        embeddings: Embedding file of the run.

    Raises:
        CrossmodalError: If the embedding file is missing or damaged.
    """
    facts, splits = read_pools(embeddings)
    method: Method = plugins.make("methods", spec["plugin"], facts["options"], "options")
    (first, queries), (second, gallery) = splits["test"].items()
    scores = method.score(_first_rows(queries), _first_rows(gallery), (first, second))
    draw_matrix(output, scores, spec["title"], (f"number of the {second}", f"of the {first}"))


def _first_rows(pool: Pool) -> np.ndarray:
    """Embedding of one row of each of the first items, in their order."""
    _, rows = np.unique(pool.items, return_index=True)
    return pool.embeddings[rows[:ITEMS]]
