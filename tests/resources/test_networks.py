"""Sizes of networks are those of the networks themselves."""

import pytest
import torch
from torch import nn

from crossmodal.images.backbones import NETWORKS, random_network
from crossmodal.nn.mlp import mlp
from crossmodal.nn.speech import NETWORKS as SPEECH
from crossmodal.resources.networks import (
    HELD,
    IMAGE_NETWORKS,
    READ_OUTS,
    SPEECH_NETWORKS,
    autoencoder_stack,
    dense,
)

SMALL = ["squeezenet1_1", "efficientnet_lite0", "efficientnet_lite1"]


def parameters(network):
    return sum(parameter.numel() for parameter in network.parameters())


def products(network, x):
    """Multiply-adds of the convolutions and linear layers in one call."""
    total = 0

    def count(module, inputs, output):
        nonlocal total
        each = module.weight[0].numel() if module.weight.ndim > 2 else module.in_features
        total += output.numel() * each

    for module in network.modules():
        if isinstance(module, nn.Conv1d | nn.Conv2d | nn.Linear):
            module.register_forward_hook(count)
    with torch.inference_mode():
        network(x)
    return total


def test_every_network_has_a_size():
    for table in (IMAGE_NETWORKS, HELD, READ_OUTS):
        assert table.keys() == NETWORKS.keys()
    assert SPEECH_NETWORKS.keys() == SPEECH.keys()


@pytest.mark.parametrize("name", SMALL)
def test_image_networks(name):
    network, crop = random_network(name, seed=0), NETWORKS[name].preparation.crop
    size, crops = IMAGE_NETWORKS[name], torch.zeros(1, 3, crop, crop)
    assert size.parameters == pytest.approx(parameters(network), rel=0.01)
    assert size.products == pytest.approx(products(network, crops), rel=0.01)


@pytest.mark.parametrize("name", SPEECH)
def test_speech_networks(name):
    network, frames = SPEECH[name](1.0).eval(), 256
    size = SPEECH_NETWORKS[name]
    assert size.parameters == pytest.approx(parameters(network), rel=0.01)
    found = products(network, torch.zeros(1, frames, 40)) / frames
    assert size.products == pytest.approx(found, rel=0.05)


def test_dense_networks():
    network, size = mlp([7, 5, 3], nn.Tanh), dense(7, 5, 3)
    assert size.parameters == parameters(network)
    assert size.products == products(network, torch.zeros(1, 7))


def test_an_autoencoder_has_a_decoder():
    assert autoencoder_stack(7, 5, 3).products == 2 * (7 * 5 + 5 * 3)
