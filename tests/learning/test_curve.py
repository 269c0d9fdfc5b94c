from itertools import combinations

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.learning.curve import LearningCurve, by_categories, by_direction

ROWS = [{"epoch": 0, "loss": 0.1 + 0.2}, {"epoch": 1, "loss": 2.0}]


def test_curve_restored_from_its_file(tmp_path):
    path = tmp_path / "curve.csv"
    LearningCurve(ROWS).write(path)
    assert path.read_text() == '"epoch","loss"\n0,0.30000000000000004\n1,2.0\n'
    assert LearningCurve.read(path).root == ROWS


def test_curve_without_rows_has_a_header(tmp_path):
    LearningCurve([]).write(tmp_path / "curve.csv")
    assert (tmp_path / "curve.csv").read_text() == '"epoch"\n'
    assert LearningCurve.read(tmp_path / "curve.csv") == LearningCurve([])


def test_curve_file_damaged(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text('"epoch","loss"\n0,"much"\n')
    with pytest.raises(CrossmodalError, match=r"curve\.csv: is no learning curve"):
        LearningCurve.read(path)


def test_rows_with_other_columns_refused():
    with pytest.raises(ValueError, match="row 2 has not the columns of the first"):
        LearningCurve([ROWS[0], {"epoch": 1}])


def test_columns_in_any_order(tmp_path):
    for order in (ROWS, [ROWS[0], dict(reversed(ROWS[1].items()))]):
        LearningCurve(order).write(tmp_path / "curve.csv")
        assert LearningCurve.read(tmp_path / "curve.csv").root == ROWS


def test_gap_of_pairs_and_negatives():
    curve = LearningCurve([{"step": 0, "positives": -0.2, "negatives": -0.5}])
    assert curve.with_gap().root[0]["gap"] == pytest.approx(0.3)
    assert LearningCurve(ROWS).with_gap() == LearningCurve(ROWS)


@pytest.mark.parametrize(
    "categories", ["ab", "abcde", ["a | b", "c", "d"], ["a", "b | c", "d"], ["a | b", "b | a", "a"]]
)
def test_margins_by_pair_of_categories(categories):
    margins = {pair: [float(n), 0.5] for n, pair in enumerate(combinations(categories, 2))}
    columns = by_categories(margins)
    rows = [{"epoch": n} | {k: v[n] for k, v in columns.items()} for n in range(2)]
    assert LearningCurve(rows).margins() == margins


def test_columns_by_direction():
    columns = by_direction("seconds", {("image", "text"): 1.5})
    assert columns == {"seconds image-to-text": 1.5}
