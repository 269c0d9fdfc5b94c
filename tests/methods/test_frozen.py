import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.methods.frozen import Frozen


def test_scores_are_cosines_of_the_features(rng, fitted, scores):
    image, text = rng.standard_normal((7, 5)), rng.standard_normal((7, 5))
    found = scores(fitted(Frozen(), {"image": image, "text": text}), {"image": image, "text": text})
    lengths = np.outer(np.linalg.norm(image, axis=1), np.linalg.norm(text, axis=1))
    np.testing.assert_allclose(found, image @ text.T / lengths, atol=1e-12)


def test_nothing_is_learnt(rng, fitted):
    views = {"image": rng.standard_normal((7, 5)), "text": rng.standard_normal((7, 5))}
    assert fitted(Frozen(), views).state() == {}


def test_vectors_of_different_spaces_are_refused(rng, fitted):
    views = {"image": rng.standard_normal((7, 5)), "text": rng.standard_normal((7, 4))}
    with pytest.raises(CrossmodalError, match="5 of image and 4 of text columns"):
        fitted(Frozen(), views)
