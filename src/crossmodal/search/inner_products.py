"""Detection of scores that are inner products, which nearest-neighbour libraries can compute.

A score is a function of two embeddings. Its values on random rows decide whether it is the inner
product of one of the forms below: different functions differ there.
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
    """Return the form of embeddings whose inner products are the model's scores; None: no form.

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
        if np.allclose(form(queries) @ form(gallery).T, expected, rtol=TOLERANCE, atol=TOLERANCE):
            return name
    return None
