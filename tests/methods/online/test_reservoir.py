import numpy as np

from crossmodal.methods._online import reservoir as module
from crossmodal.methods._online.reservoir import Reservoir


def make(seed=0):
    return Reservoir(np.random.default_rng(seed))


def add(reservoir, numbers, width=1):
    """Rows that say their number, with labels of some columns."""
    rows = np.asarray(numbers, float)[:, None]
    reservoir.add(rows, np.ones((len(rows), width), bool))


def test_all_rows_are_kept_until_it_is_full(monkeypatch):
    monkeypatch.setattr(module, "SIZE", 5)
    reservoir = make()
    for numbers in ([0], [1, 2], [3, 4]):
        add(reservoir, numbers)
    assert reservoir.rows.ravel().tolist() == [0, 1, 2, 3, 4]
    add(reservoir, [5, 6, 7])
    assert (len(reservoir.rows), reservoir.seen) == (5, 8)


def test_each_row_is_kept_as_often_as_any_other(monkeypatch):
    monkeypatch.setattr(module, "SIZE", 5)
    counts = np.zeros(20)
    for seed in range(2000):
        reservoir = make(seed)
        for numbers in np.split(np.arange(20), [1, 4, 11]):
            add(reservoir, numbers)
        kept = reservoir.rows.ravel().astype(int)
        assert len(set(kept)) == 5
        counts[kept] += 1
    expected = 2000 * 5 / 20
    deviation = np.sqrt(expected * 15 / 20)
    assert np.abs(counts - expected).max() < 4.5 * deviation


def test_rows_one_by_one_are_kept_like_rows_at_once(monkeypatch):
    monkeypatch.setattr(module, "SIZE", 5)
    one, restored = make(), make(9)
    add(one, range(9))
    restored.restore(one.state())
    for reservoir in (one, restored):
        add(reservoir, range(9, 30))
    np.testing.assert_array_equal(one.rows, restored.rows)


def test_earlier_rows_do_not_have_labels_that_came_later():
    reservoir = make()
    add(reservoir, [0, 1], width=2)
    add(reservoir, [2], width=3)
    assert reservoir.labels.tolist() == [[True, True, False]] * 2 + [[True] * 3]
