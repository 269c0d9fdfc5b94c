import numpy as np
import pytest

from crossmodal.data.feature_file import FeatureFile
from crossmodal.errors import CrossmodalError
from crossmodal.features.fc7 import FC7


def embed(values, columns, normalise=True):
    ids = [f"{i}" for i in range(len(values))]
    source = FeatureFile(ids, ids, np.array(values, np.float32), {"one_layer": columns})
    return FC7(activations="layers", normalise=normalise).extract(None, ids, {"layers": source})


def test_columns_of_the_layer_get_length_one():
    found = embed([[9.0, 3.0, 4.0], [9.0, 0.0, 2.0]], [1, 3])
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 1.0]], rtol=1e-6)


def test_crops_are_averaged_before_the_length_is_taken():
    crops = np.array([[3.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(embed([crops.mean(0)], [0, 2]), [[0.9487, 0.3162]], atol=1e-4)


def test_the_layer_may_be_left_as_it_is():
    assert embed([[9.0, 3.0, 4.0]], [1, 3], normalise=False).tolist() == [[3.0, 4.0]]


def test_a_row_of_zeros_stays():
    assert embed([[5.0, 0.0, 0.0]], [1, 3]).tolist() == [[0.0, 0.0]]


def test_tiny_and_huge_rows_get_length_one():
    found = embed([[1e-15, 1e-15], [1e15, 1e15]], [0, 2])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)


def test_the_scale_of_a_row_does_not_matter():
    values = np.random.default_rng(0).random((4, 6))
    np.testing.assert_allclose(embed(values, [0, 6]), embed(93 * values, [0, 6]), rtol=1e-6)


def test_a_source_without_layers_is_refused():
    source = FeatureFile(["a"], ["a"], np.ones((1, 2), np.float32), {})
    with pytest.raises(CrossmodalError, match="'words' has no layers"):
        FC7(activations="words", normalise=True).extract(None, ["a"], {"words": source})
