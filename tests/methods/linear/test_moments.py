import numpy as np
import pytest

from crossmodal.learning import scaling
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.moments import cross_scatter, scatter, weighted_scatter


@pytest.fixture
def views(rng, monkeypatch):
    monkeypatch.setattr(scaling, "ROWS_PER_BLOCK", 11)
    rows = np.arange(40)
    return {
        m: Inputs(rng.standard_normal((40, d)) + 100, "centre", rows)
        for m, d in (("a", 3), ("b", 5))
    }


def test_blocks_are_the_products_of_the_centred_views(views):
    whole = {m: view[:40] for m, view in views.items()}
    found = scatter(views)
    assert set(found) == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}
    for (a, b), block in found.items():
        np.testing.assert_allclose(block, whole[a].T @ whole[b], atol=1e-10)


def test_products_with_targets_in_memory(views, rng):
    targets = rng.standard_normal((40, 2))
    np.testing.assert_allclose(cross_scatter(views["b"], targets), views["b"][:40].T @ targets)


def test_weighted_products(views, rng):
    weights = rng.random(40)
    whole = views["b"][:40]
    expected = whole.T @ np.diag(weights) @ whole
    np.testing.assert_allclose(weighted_scatter(views["b"], weights), expected, atol=1e-12)
