import pytest

from crossmodal.learning.plateau import GAP, LEFT, STEPS, plateau


def curve(*gaps):
    rows = enumerate(gaps, 1)
    return [{"step": 46 * n, "positives": 0.9 + gap, "negatives": 0.9} for n, gap in rows]


@pytest.mark.parametrize(
    ("gaps", "steps", "left"),
    [
        ((0.2, 0.3), 46, 100),
        ((0.0, 0.01, GAP + 0.001, 0.3), 138, 100),
        ((0.0, 0.06, 0.01), 92, 100),  # back again, but it had left
        ((0.01, GAP - 0.001), 92, 0),
    ],
)
def test_plateau_ends_once_pairs_exceed_negatives(gaps, steps, left):
    assert plateau(curve(*gaps)) == {STEPS: steps, LEFT: left}


@pytest.mark.parametrize("rows", [[], [{"epoch": 0, "loss": 1.0}]])
def test_a_curve_without_similarities_has_no_plateau(rows):
    assert plateau(rows) == {}
