import pytest
import torch
from torch import nn

from crossmodal.nn.word_states import WordStates
from tests.nn.test_captions import CAPTIONS, WORDS, pack


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return WordStates(WORDS, word_dims=6, dims=5, dropout=0.5).double().eval()


def alone(encoder, ids):
    """States of a caption's words, (t, 2, D), step by step in each direction."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    vectors = encoder.words(torch.tensor(ids))
    directions = []
    for suffix in ("", "_reverse"):
        cell = nn.LSTMCell(6, 5).double()
        for name in names:
            parameter = getattr(cell, name.removesuffix("_l0"))
            parameter.data = getattr(encoder.lstm, name + suffix).data
        state, states = None, []
        for vector in reversed(vectors) if suffix else vectors:
            state = cell(vector[None], state)
            states.append(state[0][0])
        directions.append(torch.stack(states[::-1] if suffix else states))
    return torch.stack(directions, 1)


def test_states_are_those_of_each_caption_alone(encoder):
    states, inside = encoder(pack(CAPTIONS))
    assert states.shape == (4, 7, 2, 5)
    for ids, found, words in zip(CAPTIONS, states, inside, strict=True):
        assert words.tolist() == [place < len(ids) for place in range(7)]
        torch.testing.assert_close(found[words], alone(encoder, ids), rtol=0, atol=1e-14)
        assert (found[~words] == 0).all()


def test_word_vectors_are_dropped_in_training_alone(encoder):
    evaluated = encoder(pack(CAPTIONS))[0]
    assert torch.equal(evaluated, encoder(pack(CAPTIONS))[0])
    encoder.train()
    assert not torch.equal(encoder(pack(CAPTIONS))[0], encoder(pack(CAPTIONS))[0])
