import numpy as np
import pytest
import torch

from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.learning import contract
from crossmodal.learning.method import Method

ROWS = 4
VIEW = View(np.ones((ROWS, 3)), np.arange(ROWS), [str(row) for row in range(ROWS)], {})


class Returns(Method):
    task = "instance"

    def __init__(self, embedded, scored=None):
        self.embedded, self.scored = embedded, scored

    def fit(self, train, validation, run):
        pass

    def embed(self, modality, view):
        return self.embedded


class Scores(Returns):
    def score(self, queries, gallery, direction):
        return self.scored


@pytest.mark.parametrize(
    ("embedded", "said"),
    [
        (np.ones(ROWS), r"numpy.ndarray of the shape \(4,\) for image"),
        (np.ones((ROWS + 1, 2)), r"of the shape \(5, 2\)"),
        (torch.ones(ROWS, 2), r"torch.Tensor of the shape \(4, 2\)"),
        (np.full((ROWS, 2), "a"), "numpy.ndarray"),
        ([[1.0]] * ROWS, "builtins.list for image"),
        (None, "builtins.NoneType for image"),
    ],
)
def test_wrong_embeddings_name_file_line_and_expectation(embedded, said):
    expected = "expected: an array of numbers with 4 rows"
    with pytest.raises(CrossmodalError, match=rf"{__name__.split('.')[-1]}\.py, line \d+: embed "):
        contract.embed(Returns(embedded), "image", VIEW)
    with pytest.raises(CrossmodalError, match=rf"{said}.*{expected}"):
        contract.embed(Returns(embedded), "image", VIEW)


def test_numbers_that_are_not_finite_are_counted():
    with pytest.raises(CrossmodalError, match="2 of 8 numbers for text that are not finite"):
        contract.embed(Returns(np.array([[np.nan, np.inf]] + [[0.0, 1.0]] * 3)), "text", VIEW)


def test_sound_embeddings_and_scores_are_those_returned():
    embedded = np.eye(ROWS, dtype=np.float32)
    method = Returns(embedded)
    assert contract.embed(method, "image", VIEW) is embedded
    found = contract.score(method, embedded, embedded[:2], ("image", "text"))
    np.testing.assert_array_equal(found, method.score(embedded, embedded[:2], ("image", "text")))


def test_the_default_score_needs_one_space():
    with pytest.raises(CrossmodalError, match=r"\(3,\) and \(2,\) for image and text; .*`score`"):
        contract.score(Returns(None), np.ones((4, 3)), np.ones((4, 2)), ("image", "text"))


def test_a_score_of_another_shape_is_named():
    with pytest.raises(CrossmodalError, match=r"score returned .*\(2, 4\); expected: .*\(4, 2\)"):
        contract.score(Scores(None, np.ones((2, 4))), np.ones((4, 3)), np.ones((2, 9)), ("a", "b"))
