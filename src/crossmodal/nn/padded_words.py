"""Captions as an array of their word ids, which a network of pairs reads as their embeddings."""

import numpy as np

from crossmodal.data.split import View


def padded_words(view: View, longest: int | None = None) -> np.ndarray:
    """Return the word ids of captions side by side, (n, t) float32, NaN behind them.

    Args:
        view: The captions.
        longest: t, at most so many words of each; by default those of the longest caption.
    """
    captions = view.sequences()
    size = captions.lengths.max(initial=1)
    inside = np.arange(size) < captions.lengths[:, None]
    ids = np.full((len(captions), max(size, longest or 0)), np.nan, np.float32)
    ids[:, :size][inside] = captions.values
    return ids[:, :longest]
