import math

import numpy as np
import pytest

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import View
from crossmodal.nn.padded_words import padded_words


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (None, [[3, 5, 2], [3, 2, math.nan]]),
        (2, [[3, 5], [3, 2]]),
        (4, [[3, 5, 2, math.nan], [3, 2, math.nan, math.nan]]),
    ],
)
def test_words_lie_side_by_side(longest, expected):
    ragged = Ragged.concatenate([np.array(words) for words in ([3, 5, 2], [3, 2])])
    words = padded_words(View(ragged, np.arange(2), ["a", "b"], {}), longest)
    np.testing.assert_array_equal(words, expected)
