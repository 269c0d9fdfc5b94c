import numpy as np
import pytest
from scipy.linalg import block_diag

from crossmodal.errors import CrossmodalError
from crossmodal.methods._linear.pencil import block_pencil
from crossmodal.methods._linear.whitening import canonical_directions, whitener

WIDTHS = {"a": 4, "b": 3, "c": 2}


@pytest.fixture
def moments(rng):
    x = rng.standard_normal((9, 40))
    joint = x @ x.T
    starts = dict(zip(WIDTHS, np.cumsum([0, 4, 3]), strict=True))
    part = {m: slice(starts[m], starts[m] + width) for m, width in WIDTHS.items()}
    return {(a, b): joint[part[a], part[b]] for a in WIDTHS for b in WIDTHS}


def diagonal(moments, views):
    return {m: moments[m, m] for m in views}


def test_directions_solve_the_pencil_and_meet_the_constraint(moments):
    values, maps = block_pencil(moments, diagonal(moments, WIDTHS), 5)
    assert [len(maps[m]) for m in WIDTHS] == list(WIDTHS.values())
    left = np.block([[moments[a, b] for b in WIDTHS] for a in WIDTHS])
    right = block_diag(*diagonal(moments, WIDTHS).values())
    stacked = np.vstack([maps[m] for m in WIDTHS])
    np.testing.assert_allclose(left @ stacked, right @ stacked * values, atol=1e-9)
    np.testing.assert_allclose(stacked.T @ right @ stacked, np.eye(5), atol=1e-12)
    assert (np.diff(values) <= 0).all()
    assert values[0] <= len(WIDTHS)  # all views perfectly correlated


def test_pencil_of_two_views_has_canonical_correlations(moments):
    views = ("a", "b")
    pairs = {(a, b): moments[a, b] for a in views for b in views}
    values, _ = block_pencil(pairs, diagonal(moments, views), 7)
    whiteners = [whitener(moments[m, m], 0.0) for m in views]
    _, rho, _ = canonical_directions(whiteners[0], moments["a", "b"], whiteners[1])
    expected = np.concatenate([1 + rho, [1], 1 - rho[::-1]])
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_a_singular_constraint_is_refused(moments):
    constraints = diagonal(moments, WIDTHS) | {"c": np.zeros((2, 2))}
    with pytest.raises(CrossmodalError, match=r"singular.*raise ridge"):
        block_pencil(moments, constraints, 1)


def test_more_directions_than_columns_are_refused(moments):
    with pytest.raises(CrossmodalError, match=r"dims is 10.*only 9"):
        block_pencil(moments, diagonal(moments, WIDTHS), 10)
