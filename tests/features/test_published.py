import numpy as np
import pytest

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.published import Published

MATRIX = np.arange(12.0).reshape(4, 3)


def fitted(folder, matrix, name="sift"):
    with Writer(folder) as out:
        for index in range(4):
            out.item(f"{index}", "train")
        out.published("sift", matrix)
    dataset = Prepared(folder)
    feature = Published(matrix=name, modality="image")
    feature.fit(dataset, {})
    return dataset, feature


def test_rows_follow_the_items(tmp_path):
    dataset, feature = fitted(tmp_path, MATRIX)
    some = [dataset.items[index] for index in (2, 0, 3)]
    assert np.array_equal(feature.extract(dataset, some, {}), MATRIX[[2, 0, 3]])
    assert feature.modality == "image"


@pytest.mark.parametrize("matrix", [MATRIX[:3], MATRIX[:, 0], np.zeros((5, 2))])
def test_a_matrix_of_another_shape_is_refused(tmp_path, matrix):
    with pytest.raises(CrossmodalError, match=r"'sift' has shape .* 4 items"):
        fitted(tmp_path, matrix)


@pytest.mark.parametrize("damage", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_refused(tmp_path, damage):
    matrix = MATRIX.copy()
    matrix[2, 1] = damage
    with pytest.raises(CrossmodalError, match="not finite at item '2'"):
        fitted(tmp_path, matrix)


def test_an_unknown_matrix_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(CrossmodalError, match="no published feature 'lda'; it has: sift"):
        fitted(tmp_path, MATRIX, "lda")
