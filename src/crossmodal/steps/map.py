"""A map of the shared space: embeddings of test items with two labels, by t-SNE."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.manifold import TSNE

from crossmodal.data import label_names
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.figures import draw_points
from crossmodal.evaluation.retrieval import unit_rows
from crossmodal.prepared import Prepared
from crossmodal.steps.evaluate import read_pools

MARKERS = ("o", "^")
PERPLEXITY = 30


def draw_map(spec: dict[str, Any], output: Path, folder: Path, embeddings: Path) -> None:
    """Draw the map, as Wu et al. 2020, figure 6: both modalities in one plane.

    Args:
        spec: `title`, the two `labels` and the protocol, 'single' or 'multi'.
        output: SVG.
        folder: Folder of the prepared dataset.
        embeddings: Embedding file of the run; one vector per row.

    Raises:
        CrossmodalError: If an input is missing or damaged, or there is no such label.
    """
    facts, splits = read_pools(embeddings)
    known = label_names(Prepared(folder), spec["protocol"])
    for label in spec["labels"]:
        if label not in known:
            raise CrossmodalError(f"map: label {label!r} is unknown; known: {', '.join(known)}")
    columns = [known.index(label) for label in spec["labels"]]
    rows, has, sides = [], [], []
    for modality, pool in splits["test"].items():
        kept = pool.labels[:, columns].any(axis=1)
        rows.append(unit_rows(pool.embeddings[kept]))
        has.append(pool.labels[kept][:, columns])
        sides += [modality] * int(kept.sum())
    points = _plane(np.concatenate(rows), facts["seed"])
    draw_points(output, _groups(points, np.concatenate(has), sides, spec["labels"]), spec["title"])


def _plane(rows: np.ndarray, seed: int) -> np.ndarray:
    """Points (n, 2) whose neighbours are those of the rows (n, d)."""
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)


def _groups(
    points: np.ndarray, has: np.ndarray, sides: list[str], labels: list[str]
) -> dict[str, tuple[np.ndarray, str]]:
    """Points and marker by name: each modality with either label alone, and with both."""
    names = [*(f"{label} only" for label in labels), "both"]
    kinds = np.where(has.all(axis=1), 2, has[:, 1])  # 0, 1: which label, 2: both
    found = {}
    for modality, marker in zip(dict.fromkeys(sides), MARKERS, strict=True):
        for kind, name in enumerate(names):
            chosen = (np.array(sides) == modality) & (kinds == kind)
            if chosen.any():
                found[f"{modality}, {name}"] = (points[chosen], marker)
    return found
