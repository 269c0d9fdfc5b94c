import numpy as np
import pytest
import torch

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.cca import CCA
from crossmodal.methods.dcca import DCCA, CanonicalVariates
from crossmodal.nn.correlation import total_correlation

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {"dims": 3, "hidden": [32], "dropout": 0.0, "ridge": 1e-3, "power": 0.0}
OPTIONS |= {"scaling": "zscore", "learning_rate": 0.01, "weight_decay": 0.0}
OPTIONS |= {"batch": 120, "epochs": 40}


def last_correlation(method, split):
    """Sum of the correlations of a split's variates."""
    variates = (torch.from_numpy(method.embed(m, v)) for m, v in split.views.items())
    return total_correlation(*variates, 0.0).item()


@pytest.mark.usefixtures("keep_last")
def test_linear_networks_reach_the_correlations_of_linear_cca(paired, make_split):
    split = make_split(paired)
    linear = CCA(dims=5, ridge=0.0, power=0.0)
    linear.fit(split, split, Run(0))
    method = DCCA(
        **OPTIONS | {"dims": 5, "hidden": [], "ridge": 1e-9, "epochs": 200, "learning_rate": 0.03}
    )
    method.fit(split, split, Run(0))
    expected = linear.arrays["correlations"].sum()
    assert last_correlation(method, split) == pytest.approx(expected, abs=1e-3)


def test_networks_find_what_linear_cca_does_not(make_split, rng):
    signs = rng.choice([-1.0, 1.0], (400, 2))
    image = signs + 0.1 * rng.standard_normal((400, 2))
    text = np.stack([signs.prod(axis=1), rng.standard_normal(400)], axis=1)  # XOR and noise
    split = make_split({"image": image, "text": text})
    linear = CCA(dims=1, ridge=0.0, power=0.0)
    linear.fit(split, split, Run(0))
    assert linear.arrays["correlations"][0] < 0.3
    method = DCCA(**OPTIONS | {"dims": 1, "batch": 400, "epochs": 60})
    method.fit(split, split, Run(0))
    assert last_correlation(method, split) > 0.8


def test_variates_are_those_of_linear_cca(paired, make_split, scores):
    outputs = {m: rows[:, :4] for m, rows in paired.items()}
    split = make_split(outputs)
    linear = CCA(dims=4, ridge=0.0, power=2.0)
    linear.fit(split, split, Run(0))
    readout = CanonicalVariates(outputs, 4, ridge=0.0, power=2.0)
    codes = {m: torch.from_numpy(rows).float() for m, rows in outputs.items()}
    readout.fit(codes)
    found = [readout(m, rows).numpy() for m, rows in codes.items()]
    np.testing.assert_allclose(
        linear.score(*found, tuple(outputs)), scores(linear, outputs), atol=1e-4
    )


def test_constant_outputs_are_left_out(paired):
    outputs = {m: torch.from_numpy(rows[:, :3]).float() for m, rows in paired.items()}
    outputs["image"][:, 1] = 2.0
    readout = CanonicalVariates(outputs, 3, ridge=0.0, power=0.0)
    readout.fit(outputs)
    variates = readout("image", outputs["image"])
    assert (variates[:, 2] == 0).all()
    np.testing.assert_allclose(np.cov(variates[:, :2].T.numpy()), np.eye(2), atol=1e-5)


def test_variates_are_fitted_to_the_outputs_without_dropout(classes):
    train = classes(0)
    method = DCCA(**OPTIONS | {"dropout": 0.5, "epochs": 3})
    method.fit(train, train, Run(0))
    for modality, view in train.views.items():
        variates = method.embed(modality, view)
        np.testing.assert_allclose(variates.mean(axis=0), 0, atol=1e-4)
        assert (np.linalg.eigvalsh(np.cov(variates.T)) < 1 + 1e-4).all()


def test_unseen_items_are_found(assert_learns):
    assert_learns(lambda: DCCA(**OPTIONS), 0.75)  # untrained it is up to 0.53


def test_a_batch_no_larger_than_the_outputs_is_refused(classes):
    with pytest.raises(CrossmodalError, match="batch of 12"):
        DCCA(**OPTIONS | {"dims": 12, "batch": 12}).fit(classes(0), classes(1), Run(0))
