import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from crossmodal.nn.captions import CaptionEncoder

WORDS = 9
CAPTIONS = [[4, 5, 5, 2], [6, 2], [4, 4, 4, 8, 7, 4, 2], [2]]


def pack(captions):
    return pack_sequence([torch.tensor(ids) for ids in captions], enforce_sorted=False)


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    encoder = CaptionEncoder(WORDS, word_dims=6, dims=5).double()
    nn.init.uniform_(encoder.gru.bias_ih_l0)
    return encoder


def test_captions_and_gradients_are_those_of_pytorch_one_by_one(encoder):
    trained = [p for p in encoder.parameters() if p.requires_grad]
    weights = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(4, 5)
    alone = [encoder.gru(encoder.words(torch.tensor(ids))[:, None])[1][0, 0] for ids in CAPTIONS]
    found = []
    for states in (encoder(pack(CAPTIONS)), torch.stack(alone)):
        found.append([states, *torch.autograd.grad((states * weights).sum(), trained)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def test_the_last_word_counts(encoder):
    first, second = encoder(pack([[4, 5, 2], [4, 5, 3]]))
    assert (first - second).abs().max() > 1e-3


def test_the_order_of_captions_does_not_matter(encoder):
    backwards = encoder(pack(CAPTIONS[::-1]))
    torch.testing.assert_close(backwards.flip(0), encoder(pack(CAPTIONS)), rtol=0, atol=1e-15)


@pytest.mark.parametrize("word_dims", [24, 32])
def test_starts_as_the_released_code_does(word_dims):
    torch.manual_seed(0)
    encoder = CaptionEncoder(30, word_dims, dims=32)
    assert 0.095 < encoder.words.weight.abs().max() <= 0.1
    for gate in encoder.gru.weight_hh_l0.detach().chunk(3):
        torch.testing.assert_close(gate @ gate.T, torch.eye(32), atol=1e-5, rtol=0)
    for gate in encoder.gru.weight_ih_l0.detach().chunk(3):
        if word_dims == 32:
            torch.testing.assert_close(gate @ gate.T, torch.eye(32), atol=1e-5, rtol=0)
        else:
            assert 0.095 < gate.abs().max() <= 0.1
    assert (encoder.gru.bias_ih_l0 == 0).all()
    assert (encoder.gru.bias_hh_l0 == 0).all()
    assert not encoder.gru.bias_hh_l0.requires_grad


def test_may_start_uniform_as_pytorchs_gru():
    encoder = CaptionEncoder(30, 24, dims=64, initialisation="uniform")
    for weight in (encoder.gru.weight_ih_l0, encoder.gru.weight_hh_l0):
        assert 0.12 < weight.abs().max() <= 64**-0.5
    assert (encoder.gru.bias_ih_l0 == 0).all()


def test_on_a_gpu_captions_are_the_same(encoder):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    expected = encoder(pack(CAPTIONS))
    found = encoder.cuda()(pack(CAPTIONS).to("cuda")).cpu()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
