"""A map of the shared space: embeddings of test items in a plane, by t-SNE."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from crossmodal.data.prepared import Prepared
from crossmodal.data.split import label_names
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.reporting.figures import Group, Points, draw_points
from crossmodal.vectors import unit_rows
from crossmodal.workflow.report_specs import Map

MARKERS = ("o", "^")
PERPLEXITY = 30
LARGEST = 1000  # rows of each modality; t-SNE takes minutes for more


def draw_map(spec: Map, output: Path, inputs: list[Path]) -> Points:
    """Draw the map: both modalities in one plane.

    With two labels, the items that have either or both (Wu et al. 2020, figure 6); without, all
    items that have just one label (Semedo and Magalhaes 2019, figure 5).

    Args:
        spec: Title, labels, and what the run was fitted on.
        output: The SVG, beside which a PDF is written.
        inputs: Embedding file of the run, one vector per row; items.csv of the prepared dataset.

    Returns:
        The points: group, x, y.

    Raises:
        CrossmodalError: If an input is corrupt, or there is no such label.
    """
    from crossmodal.models.embedding_file import read_embeddings  # slow, as is SciPy in it

    embeddings, items = inputs
    embedded = read_embeddings(embeddings)
    categories = label_names(Prepared(items.parent), spec.relevance, spec.classes)
    if not categories:
        raise CrossmodalError(f"{items.parent}: the dataset has no labels, which a map shows")
    kinds_of = _kinds(spec.labels, categories)
    rows, kinds, sides = [], [], []
    for modality, pool in embedded.splits["test"].items():
        if pool.labels is None:
            raise CrossmodalError(f"{embeddings}: has no labels, which a map shows")
        kind = kinds_of(pool.labels)
        drawn = np.flatnonzero(kind >= 0)
        drawn = drawn[:: -(-len(drawn) // LARGEST) or 1]
        rows.append(unit_rows(embedded.method.map_part(pool.embeddings[drawn])))
        kinds.append(kind[drawn])
        sides += [modality] * len(drawn)
    names = [*(f"{label} only" for label in spec.labels), "both"] if spec.labels else categories
    points = _plane(np.concatenate(rows), embedded.facts["seed"])
    groups = _groups(points, np.concatenate(kinds), sides, names)
    draw_points(output, groups, spec.title)
    places = ((name, *point) for name, group in groups.items() for point in group.points.tolist())
    return ["group", "x", "y"], places


def _kinds(labels: list[str] | None, categories: list[str]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from labels (n, C) to the kind of each row (n,); -1: it is left out."""
    if labels is None:
        return lambda has: np.where(has.sum(axis=1) == 1, has.argmax(axis=1), -1)
    for label in labels:
        if label not in categories:
            raise CrossmodalError(f"map: {unknown(label, categories)}")
    first, second = (categories.index(label) for label in labels)
    return lambda has: has[:, first] + 2 * has[:, second].astype(int) - 1


def _plane(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return points (n, 2) whose neighbours are those of the rows (n, d)."""
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    from sklearn.manifold import TSNE  # seconds, which other figures need not wait for

    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)


def _groups(
    points: np.ndarray, kinds: np.ndarray, sides: list[str], names: list[str]
) -> dict[str, Group]:
    """Return each kind in each modality by name: colours are kinds, markers modalities."""
    groups = {}
    for modality, marker in zip(dict.fromkeys(sides), MARKERS, strict=True):
        for kind, name in enumerate(names):
            chosen = (np.array(sides) == modality) & (kinds == kind)
            if chosen.any():
                groups[f"{modality}, {name}"] = Group(points[chosen], marker, kind)
    return groups
