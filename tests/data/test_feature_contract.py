from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.data.feature_contract import extract
from crossmodal.errors import CrossmodalError


class Returning:
    """A feature that returns a value."""

    def __init__(self, value):
        self.value, self.shape = value, "sequence" if isinstance(value, list) else "vector"

    def extract(self, dataset, rows, sources):
        return self.value


def returned(value, rows=2):
    return extract(Returning(value), SimpleNamespace(), ["row"] * rows, {})


WRONG = [
    (None, "NoneType; expected: an array of real numbers"),
    ([["a"], ["b"]], "list; expected"),
    (np.full((2, 3), "a"), "an array of <U1; expected"),
    (np.ones((2, 3), complex), "an array of complex128; expected"),
    ([np.ones((1, 3), object)] * 2, "an array of object; expected"),
    (np.ones((3, 3)), "3 rows for 2"),
    ([np.ones((4, 3))], "1 rows for 2"),
    ([np.ones((1, 2)), np.ones((1, 3))], r"sequences whose steps differ in shape: \(2,\) and \(3,"),
    (np.ones((2, 0)), r"rows without a number, of the shape \(2, 0\)"),
]


@pytest.mark.parametrize(("value", "reason"), WRONG)
def test_rows_that_no_file_holds_are_told_with_the_line(value, reason):
    with pytest.raises(
        CrossmodalError, match=rf"contract\.py, line \d+: extract returned {reason}"
    ):
        returned(value)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.float16, np.float64])
def test_rows_of_real_numbers_are_passed_on(dtype):
    rows = np.ones((2, 3), dtype)
    assert returned(rows) is rows
    sequences = [np.ones((5, 3), dtype), np.ones((0, 3), dtype)]
    assert returned(sequences) is sequences
