"""Scores of embeddings or codes that may lie in files, a tile of the gallery at a time."""

from typing import Literal, Protocol, get_args

import numpy as np

from crossmodal.errors import CrossmodalError, unknown
from crossmodal.metrics.blocks import ScoreRows
from crossmodal.vectors import unit_rows

Scoring = Literal["cosine", "inner", "hamming"]
TILE_BYTES = 32 * 2**20


class Rows(Protocol):
    """A matrix of which slices of rows are taken, such as an array of NumPy."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        """Return some rows."""


def scorer(queries: Rows, gallery: Rows, scoring: Scoring) -> ScoreRows:
    """Return what scores some queries against the gallery, higher is better.

    Args:
        queries: (q, d).
        gallery: (n, d).
        scoring: 'cosine' or 'inner' product; or 'hamming', minus the distance of codes: of two
            values in each row, or of uint8 with eight bits each.

    Raises:
        CrossmodalError: If the shapes do not fit, or codes have other values.
    """
    if len(queries.shape) != 2 or len(gallery.shape) != 2 or queries.shape[1] != gallery.shape[1]:
        raise CrossmodalError(
            f"queries {queries.shape} and gallery {gallery.shape} need rows of the same width"
        )
    if scoring not in get_args(Scoring):
        raise CrossmodalError(f"`score`: {unknown(scoring, get_args(Scoring))}")
    if not queries.shape[1]:
        raise CrossmodalError("queries and gallery have no columns; give some")
    own, other = (np.asarray(rows[:1]).dtype for rows in (queries, gallery))
    if scoring == "hamming" and (own == np.uint8) != (other == np.uint8):
        raise CrossmodalError(
            f"codes are {own} and {other}; give both as uint8, of eight bits each, or both as bool"
        )
    tile = max(1, TILE_BYTES // (8 * gallery.shape[1]))
    parts = [slice(start, start + tile) for start in range(0, gallery.shape[0], tile)]
    compare = _hamming if scoring == "hamming" else _product
    prepare = {"cosine": _unit, "inner": _floats, "hamming": _words}[scoring]

    def score_rows(rows: slice) -> np.ndarray:
        asked = prepare(queries[rows])
        scores = np.empty((len(asked), gallery.shape[0]), _type_of(asked))
        for part in parts:
            compare(asked, prepare(gallery[part]), scores[:, part])
        return scores

    return score_rows


def _floats(rows: np.ndarray) -> np.ndarray:
    return rows if rows.dtype == np.float64 else np.asarray(rows, np.float32)


def _unit(rows: np.ndarray) -> np.ndarray:
    return unit_rows(_floats(rows))


def _words(rows: np.ndarray) -> np.ndarray:
    """Return codes as words of 64 bits, (rows, words)."""
    if rows.dtype != np.uint8:  # whose codes of 0 and 1 differ as often if taken as packed
        if not any(((rows == low) | (rows == 1)).all() for low in (0, -1)):
            raise CrossmodalError("codes have 0 and 1, or -1 and 1; or eight bits in each uint8")
        rows = np.packbits(rows > 0, axis=1)
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 8)))
    return np.ascontiguousarray(padded).view(np.uint64)


def _type_of(rows: np.ndarray) -> np.dtype:
    """Return the type of scores: float64 of such embeddings, otherwise float32."""
    return np.dtype(np.float64 if rows.dtype == np.float64 else np.float32)


def _product(queries: np.ndarray, gallery: np.ndarray, scores: np.ndarray) -> None:
    np.matmul(queries, gallery.T, out=scores, casting="same_kind")


def _hamming(queries: np.ndarray, gallery: np.ndarray, scores: np.ndarray) -> None:
    scores[:] = 0
    for own, others in zip(queries.T, gallery.T, strict=True):
        scores -= np.bitwise_count(own[:, None] ^ others)
