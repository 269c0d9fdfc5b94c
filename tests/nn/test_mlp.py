import numpy as np
import pytest
import torch
from torch import nn

from crossmodal.errors import CrossmodalError
from crossmodal.nn.mlp import layers_of, linear, mlp


def test_weights_start_glorot_uniform_and_biases_at_zero():
    layer = linear(200, 100)
    bound = np.sqrt(6 / 300)
    assert 0.98 * bound < layer.weight.abs().max() <= bound
    assert (layer.bias == 0).all()


def test_each_layer_is_followed_by_the_activation():
    network = mlp([4, 5, 3], nn.Tanh)
    x = torch.randn(7, 4)
    first, second = (layer for layer in network if isinstance(layer, nn.Linear))
    expected = torch.tanh(second(torch.tanh(first(x))))
    torch.testing.assert_close(network(x), expected)


def test_dropout_is_for_training_alone():
    network, x = mlp([4, 200], nn.ReLU, dropout=0.5), torch.ones(1, 4)
    assert not torch.equal(network(x), network(x))
    network.eval()
    assert torch.equal(network(x), network(x))


def test_a_view_without_layers_is_named():
    assert layers_of("image", {"image": [3]}) == [3]
    with pytest.raises(CrossmodalError, match=r"view 'speech'.*image, text"):
        layers_of("speech", {"image": [], "text": []})
