"""What all methods promise."""

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.learning.method import Run

CCA = {"dims": 3, "ridge": 0.1, "power": 1.0}
GROUP_SPARSE = {"penalty": 1.0, "iterations": 5, "tolerance": 0.0}
DETERMINISTIC = {
    "cca": CCA,
    "cfa": {"dims": 3, "scaling": "zscore"},
    "jrl": GROUP_SPARSE | {"graph_weight": 1.0, "pair_weight": 1.0, "neighbours": 5},
    "lgcfl": GROUP_SPARSE | {"scaling": "zscore"},
    "ml_cca": CCA | {"sigma": 1.0},
    "pls": {"dims": 3, "scaling": "zscore"},
    "ridge": {"penalty": 0.1, "whitening": 0.5},
    "three_view_cca": CCA | {"scaling": "zscore"},
}


@pytest.fixture
def captioned(make_split, rng):
    """40 wide images of two texts each; items have none, one or several of five labels."""
    shared = rng.standard_normal((40, 5))
    image = shared @ rng.standard_normal((5, 120)) + rng.standard_normal((40, 120))
    text = shared.repeat(2, axis=0) @ rng.standard_normal((5, 110))
    text = text + rng.standard_normal((80, 110))
    return make_split({"image": image, "text": text}, shared > 0)


def test_the_methods_that_are_not_random():
    names = plugins.names("methods")
    assert [n for n in names if not plugins.load("methods", n).random] == sorted(
        [*DETERMINISTIC, "frozen"]  # which learns nothing
    )


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_seed_does_not_change_a_method_that_is_not_random(name, captioned):
    states = []
    for seed in (0, 1):
        method = plugins.make("methods", name, DETERMINISTIC[name], name)
        method.fit(captioned, captioned, Run(seed))
        states.append(method.state())
    first, second = states
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(second[key], value, err_msg=key)
