import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from crossmodal.methods._staged.classifiers import Classifiers

HIDDEN = {"image": [5], "text": []}


@pytest.fixture
def classifiers():
    torch.manual_seed(0)
    return Classifiers({"image": 4, "text": 3}, HIDDEN, 2, dropout=0.0, scaling="raw")


def test_loss_is_the_cross_entropy_of_both_modalities(classifiers):
    x = {"image": torch.randn(6, 4), "text": torch.randn(6, 3)}
    labels = torch.tensor([[1, 0], [0, 1], [0.5, 0.5], [1, 0], [0, 1], [0, 1]])
    expected = 0.0
    for modality, rows in x.items():
        logits = classifiers.logits(modality, rows).detach().numpy().astype(float)
        expected -= (labels.numpy() * log_softmax(logits, axis=1)).sum() / 6
    assert classifiers.loss(x, labels).item() == pytest.approx(expected, rel=1e-5)


def test_the_output_is_the_last_hidden_layer(classifiers):
    x = {"image": torch.randn(6, 4), "text": torch.randn(6, 3)}
    first = classifiers.branches["image"][0]
    torch.testing.assert_close(classifiers("image", x["image"]), torch.relu(first(x["image"])))
    np.testing.assert_array_equal(classifiers("text", x["text"]), x["text"])
