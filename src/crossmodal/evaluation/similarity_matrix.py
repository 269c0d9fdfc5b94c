"""How similar a run finds the first items of the test split, each against each: a picture.

Figure 8 of Cheng et al., IEEE TMM 2022.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from crossmodal import plugins
from crossmodal.evaluation.figures import STYLE, save
from crossmodal.evaluation.retrieval import Pool
from crossmodal.methods.base import Method
from crossmodal.steps.evaluate import read_embeddings

ITEMS = 100


def draw_similarity_matrix(path: Path, embeddings: Path, title: str) -> None:
    """Draw the scores of the first items' first rows, the brighter the higher.

    Args:
        path: The SVG.
        embeddings: Embedding file of a run.
        title: Above the figure.

    Raises:
        CrossmodalError: If the file is missing or damaged.
    """
    (rows, columns), scores = first_scores(embeddings)
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, area = plt.subplots(figsize=(5.0, 4.4), layout="constrained")
        figure.colorbar(area.imshow(scores, interpolation="nearest"))
        area.set(title=title, xlabel=f"{columns}, by item", ylabel=f"{rows}, by item")
        save(figure, path)


def first_scores(embeddings: Path) -> tuple[tuple[str, str], np.ndarray]:
    """Both modalities, and the score of each item's first row against each, (n, n)."""
    facts, splits = read_embeddings(embeddings)
    method: Method = plugins.make("methods", facts["plugin"], facts["options"], "options")
    (first, queries), (second, gallery) = splits["test"].items()
    scores = method.score(_first_rows(queries), _first_rows(gallery), (first, second))
    return (first, second), scores


def _first_rows(pool: Pool) -> np.ndarray:
    _, rows = np.unique(pool.items, return_index=True)
    return pool.embeddings[rows[:ITEMS]]
