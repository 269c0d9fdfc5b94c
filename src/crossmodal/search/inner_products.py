"""Which scores are inner products: these need no method, and suit libraries of nearest neighbours.

A score is a function of two embeddings alone. Whether it is the inner product of one of the forms
below is settled by its values on random rows: functions that differ, differ there.
"""

from collections.abc import Callable

import numpy as np

from crossmodal.learning.method import Direction
from crossmodal.models.model import Model
from crossmodal.vectors import unit_rows

ROWS = 16
TOLERANCE = 1e-4

FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "unit": unit_rows,  # the cosine
    "plain": lambda rows: rows,
    "first half": lambda rows: rows[:, : rows.shape[1] // 2],  # one model for each direction
    "second half": lambda rows: rows[:, rows.shape[1] // 2 :],
}


def find_form(model: Model, direction: Direction, width: tuple[int, ...]) -> str | None:
    """The form of embeddings whose inner products are the model's scores; None if none is.

    Args:
        model: The model.
        direction: Modalities of query and gallery.
        width: Shape of one embedding.
    """
    if len(width) != 1:
        return None
    rng = np.random.default_rng(0)
    queries, gallery = rng.standard_normal((2, ROWS, *width), np.float32)
    expected = model.score(queries, gallery, direction)
    for name, form in FORMS.items():
        found = form(queries) @ form(gallery).T
        if np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE):
            return name
    return None
