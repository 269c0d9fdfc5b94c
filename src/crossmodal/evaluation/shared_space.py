"""The shared space of a run in two dimensions: figure 5 of Semedo and Magalhaes, ACM MM 2019."""

from pathlib import Path

import h5py
import numpy as np
from matplotlib import pyplot as plt
from sklearn.manifold import TSNE

from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.figures import STYLE, save

MARKERS = ("o", "x")
LARGEST = 1000  # rows of each modality; t-SNE takes minutes for more


def draw_shared_space(path: Path, embeddings: Path, title: str) -> None:
    """Draw the test split's embeddings by t-SNE on their cosine: colour tells the category, the
    marker tells the modality. Rows with several labels, or none, are left out.

    Args:
        path: The SVG.
        embeddings: Embedding file of a run.
        title: Above the figure.

    Raises:
        CrossmodalError: If the file is missing or damaged, no row has just one label, or the
            embeddings are no vectors of one space.
    """
    names, views = _read(embeddings)
    widths = {x.shape[1:] for x, _ in views.values()}
    if len(widths) > 1 or len(min(widths)) != 1:
        raise CrossmodalError(f"{embeddings}: the views are not vectors of one space")
    rows = np.concatenate([x for x, _ in views.values()])
    kinds = np.concatenate([labels for _, labels in views.values()])
    owner = np.repeat(np.arange(len(views)), [len(x) for x, _ in views.values()])
    perplexity = min(30, (len(rows) - 1) / 3)
    points = TSNE(metric="cosine", perplexity=perplexity, random_state=0).fit_transform(rows)
    with plt.rc_context(STYLE):
        figure, area = plt.subplots(figsize=(7.0, 5.0), layout="constrained")
        for number, kind in enumerate(np.unique(kinds)):
            for view, marker in zip(range(len(views)), MARKERS, strict=True):
                chosen = points[(kinds == kind) & (owner == view)]
                colour = plt.cm.tab20(number % 20)
                label = names[kind] if view == 0 else None
                area.scatter(*chosen.T, s=12, marker=marker, color=colour, label=label)
        area.set(title=title, xticks=[], yticks=[])
        area.set_xlabel(", ".join(f"{m}: {v}" for m, v in zip(MARKERS, views, strict=True)))
        area.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        save(figure, path)


def _read(path: Path) -> tuple[list[str], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Names of the labels; embeddings and label of the rows with just one, for each modality."""
    try:
        with h5py.File(path) as file:
            names = [str(name) for name in file.attrs["labels"]]
            modalities = [str(m) for m in file.attrs["modalities"]]
            return names, {m: _one_label(path, file["test"][m]) for m in modalities}
    except (OSError, KeyError) as error:
        raise CrossmodalError(f"{path}: not a whole embedding file ({error})") from error


def _one_label(path: Path, group: h5py.Group) -> tuple[np.ndarray, np.ndarray]:
    labels = group["labels"][()] if "labels" in group else np.zeros((0, 0), bool)
    chosen = np.flatnonzero(labels.sum(1) == 1)
    if not len(chosen):
        raise CrossmodalError(f"{path}: no item of the test split has just one label")
    chosen = chosen[:: -(-len(chosen) // LARGEST)]
    return group["embeddings"][()][chosen], labels[chosen].argmax(1)
