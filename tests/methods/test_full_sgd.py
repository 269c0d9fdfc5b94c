import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.full_sgd import FullSGD

OPTIONS = {
    "step_size": 0.5,
    "margin_scale": 5.0,
    "feature_weight": 0.5,
    "triplets_per_query": 4,
    "triplets": 4000,
    "scaling": "centre-l2",
    "pca_energy": None,
}


@pytest.fixture
def fitted_to(labelled, make_split):
    views, labels = labelled
    split = make_split(views, labels)

    def fit(**options):
        method = FullSGD(**OPTIONS | options)
        method.fit(split, split, Run(0))
        return method, split

    return fit


def test_score_is_the_bilinear_form_of_its_direction(fitted_to):
    method, split = fitted_to()
    for direction, learner in method.learners.items():
        rows = []
        for modality in direction:
            centred = split.views[modality].features - method.arrays[f"{modality}.mean"]
            rows.append(centred / np.linalg.norm(centred, axis=1, keepdims=True))
        found = method.score(*(method.embed(m, split.views[m]) for m in direction), direction)
        expected = rows[0] @ learner.model.weights @ rows[1].T
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_first_list_of_triplets_is_a_step_from_zero(fitted_to):
    """All margins are violated at W = 0, so that W is eta x times the sum of the differences."""
    method, _ = fitted_to(triplets=4)
    for learner in method.learners.values():
        assert np.linalg.matrix_rank(learner.model.weights) == 1


def test_a_wrong_option_is_named():
    with pytest.raises(CrossmodalError, match=r"full_sgd\.rank: unknown key"):
        plugins.make("methods", "full_sgd", OPTIONS | {"rank": 3}, "methods.full_sgd")
