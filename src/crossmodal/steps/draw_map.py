"""A map of the shared space: embeddings of test items in a plane, by t-SNE."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.manifold import TSNE

from crossmodal.data.prepared import Prepared
from crossmodal.data.split import label_names
from crossmodal.errors import CrossmodalError
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.figures import Group, draw_points
from crossmodal.vectors import unit_rows
from crossmodal.workflow.records import verified

MARKERS = ("o", "^")
PERPLEXITY = 30
LARGEST = 1000  # rows of each modality; t-SNE takes minutes for more


def draw_map(spec: dict[str, Any], output: Path, embeddings: Path, items: Path) -> None:
    """Draw the map: both modalities in one plane.

    With two labels, the items that have either or both (Wu et al. 2020, figure 6); without, all
    items that have just one label (Semedo and Magalhaes 2019, figure 5).

    Args:
        spec: `title`, the two `labels` or None, and of the run `relevance` and the categories that
            were kept, `classes`, none of them for all.
        output: SVG.
        embeddings: Embedding file of the run; one vector per row.
        items: items.csv of the prepared dataset.

    Raises:
        CrossmodalError: If an input is missing or corrupt, or there is no such label.
    """
    verified([embeddings, items])
    embedded = read_embeddings(embeddings)
    known = label_names(Prepared(items.parent), spec["relevance"], spec["classes"])
    if not known:
        raise CrossmodalError(f"{items.parent}: the dataset has no labels, which a map shows")
    kinds_of = _kinds(spec["labels"], known)
    rows, kinds, sides = [], [], []
    for modality, pool in embedded.splits["test"].items():
        found = kinds_of(pool.labels)
        kept = np.flatnonzero(found >= 0)
        kept = kept[:: -(-len(kept) // LARGEST) or 1]
        rows.append(unit_rows(embedded.method.shown(pool.embeddings[kept])))
        kinds.append(found[kept])
        sides += [modality] * len(kept)
    names = [*(f"{label} only" for label in spec["labels"]), "both"] if spec["labels"] else known
    points = _plane(np.concatenate(rows), embedded.facts["seed"])
    draw_points(output, _groups(points, np.concatenate(kinds), sides, names), spec["title"])


def _kinds(labels: list[str] | None, known: list[str]) -> Callable[[np.ndarray], np.ndarray]:
    """Kind of each row (n,) by its labels (n, C): which of the names it has; -1: it is left out."""
    if labels is None:
        return lambda has: np.where(has.sum(axis=1) == 1, has.argmax(axis=1), -1)
    for label in labels:
        if label not in known:
            raise CrossmodalError(f"map: label {label!r} is unknown; known: {', '.join(known)}")
    first, second = (known.index(label) for label in labels)
    return lambda has: has[:, first] + 2 * has[:, second].astype(int) - 1


def _plane(rows: np.ndarray, seed: int) -> np.ndarray:
    """Points (n, 2) whose neighbours are those of the rows (n, d)."""
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)


def _groups(
    points: np.ndarray, kinds: np.ndarray, sides: list[str], names: list[str]
) -> dict[str, Group]:
    """Each kind in each modality by name: the colour is the kind, the marker the modality."""
    found = {}
    for modality, marker in zip(dict.fromkeys(sides), MARKERS, strict=True):
        for kind, name in enumerate(names):
            chosen = (np.array(sides) == modality) & (kinds == kind)
            if chosen.any():
                found[f"{modality}, {name}"] = Group(points[chosen], marker, kind)
    return found
