import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from crossmodal.data.feature_file import Ragged
from crossmodal.nn.sequences import POOL, BiGRU, Sequences, batches_of_similar_length

LENGTHS = (4, 1, 7, 0, 5)


@pytest.fixture
def ragged(rng):
    return Ragged.concatenate([rng.random((n, 3)).astype(np.float16) for n in LENGTHS])


@pytest.mark.parametrize("fill", [0.0, -80.0])
def test_padding_puts_a_constant_behind_the_chosen_rows(ragged, fill):
    rows = np.array([2, 3, 0, 2])
    padded, lengths = Sequences(ragged, 99).pad(rows, 7, fill)
    chosen = [torch.from_numpy(ragged[row]).float() for row in rows]
    assert torch.equal(padded, pad_sequence(chosen, batch_first=True, padding_value=fill))
    assert lengths.tolist() == [7, 0, 4, 7]


def test_only_the_first_steps_of_a_long_row_are_used(ragged):
    padded, lengths = Sequences(ragged, 3).pad(np.array([2, 1]), 6)
    assert lengths.tolist() == [3, 1]
    np.testing.assert_array_equal(padded[0, :3], ragged[2][:3])
    assert (padded[0, 3:] == 0).all()
    assert (padded[1, 1:] == 0).all()


@pytest.mark.parametrize("layers", [1, 2])
def test_bigru_is_that_of_each_row_alone_whatever_lies_behind_it(layers):
    torch.manual_seed(0)
    network = BiGRU(3, 5, layers).double()
    lengths = torch.tensor([4, 1, 7, 3])
    x = torch.randn(4, 7, 3, dtype=torch.float64)
    x[torch.arange(7) >= lengths[:, None]] = torch.nan
    found = network(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        steps, _ = network.gru(x[row : row + 1, :length])  # (1, length, 2 units)
        expected = torch.cat([steps[0, -1, :5], steps[0, 0, 5:]])
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("layers", [1, 2])
def test_gradients_of_bigru_are_those_of_pytorch(layers):
    torch.manual_seed(0)
    network = BiGRU(3, 5, layers).double()
    lengths = torch.tensor([4, 1, 7, 3])
    x = torch.randn(4, 7, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(4, 10)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states = network.gru(packed)[1]
    found = [
        torch.autograd.grad((last * weights).sum(), [x, *network.parameters()])
        for last in (network(x, lengths), torch.cat([states[-2], states[-1]], dim=1))
    ]
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def test_similar_lengths_every_row_once_and_little_padding(rng):
    lengths = rng.integers(100, 500, 1000)
    batches = list(batches_of_similar_length(lengths, 16, rng))
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert sorted(map(len, batches)) == [8] + [16] * 62
    padded = sum(len(rows) * lengths[rows].max() for rows in batches)
    assert padded < 1.1 * lengths.sum()
    assert not np.array_equal(np.concatenate(batches), np.argsort(lengths, kind="stable"))


def test_batches_of_similar_length_differ_from_epoch_to_epoch(rng):
    lengths = rng.integers(100, 500, 4 * POOL * 8)
    first, second = (
        {frozenset(rows) for rows in batches_of_similar_length(lengths, 8, rng)} for _ in range(2)
    )
    assert len(first & second) < len(first) / 4
