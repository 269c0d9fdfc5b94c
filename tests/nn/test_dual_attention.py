import numpy as np
import pytest
import torch

from crossmodal.nn.dual_attention import AttentionSteps

WIDTH, DIMS, STEPS = 4, 4, 2
COUNTS = (3, 1, 6)


@pytest.fixture
def parts(rng):
    """Three rows of 3, 1 and 6 parts, with something behind them."""
    inside = torch.arange(6) < torch.tensor(COUNTS)[:, None]
    return torch.from_numpy(rng.standard_normal((3, 6, WIDTH))), inside


def make(projects):
    torch.manual_seed(0)
    branch = AttentionSteps(WIDTH, DIMS, STEPS, dropout=0.5, projects=projects).double().eval()
    for parameter in branch.parameters():  # zero biases would show nothing
        torch.nn.init.uniform_(parameter, -1, 1)
    return branch


def layer(module):
    """A linear layer as a function of one vector."""
    weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
    return lambda x: weight @ x + bias


def loop(branch, parts, projects):
    """Contexts of one row's parts, a part at a time."""

    def project(step, x):
        return np.tanh(layer(branch.project[step][0])(x)) if projects else x

    memory = project(0, sum(parts) / len(parts))
    contexts = [memory]
    for step, attention in enumerate(branch.attend, 1):
        of_parts, of_memory = layer(attention.of_parts), layer(attention.of_memory)
        weigh = attention.weigh.weight.detach().numpy()[0]
        scores = [weigh @ (np.tanh(of_parts(x)) * np.tanh(of_memory(memory))) for x in parts]
        total = sum(np.exp(score) for score in scores)
        mean = sum(np.exp(s) / total * x for s, x in zip(scores, parts, strict=True))
        contexts.append(project(step, mean))
        memory = memory + contexts[-1]
    return np.concatenate(contexts)


@pytest.mark.parametrize("projects", [True, False])
def test_contexts_equal_loops(parts, projects):
    rows, inside = parts
    branch = make(projects)
    found = branch(rows, inside).detach().numpy()
    for row, count, contexts in zip(rows.numpy(), COUNTS, found, strict=True):
        np.testing.assert_allclose(contexts, loop(branch, row[:count], projects), rtol=1e-12)


@pytest.mark.parametrize("projects", [True, False])
def test_neither_padding_nor_order_counts(parts, projects):
    rows, inside = parts
    branch = make(projects)
    expected = branch(rows, inside)
    other = rows.where(inside[:, :, None], 7.0)
    torch.testing.assert_close(branch(other, inside), expected)
    torch.testing.assert_close(branch(rows.flip(1), inside.flip(1)), expected)


def test_one_part_is_every_context_of_words(parts):
    rows, inside = parts
    contexts = make(False)(rows, inside)[1].view(STEPS + 1, DIMS)
    torch.testing.assert_close(contexts, rows[1, :1].expand(STEPS + 1, -1))


def test_gradients_are_those_of_finite_differences(parts):
    rows, inside = parts
    branch = make(True)
    assert torch.autograd.gradcheck(lambda x: branch(x, inside), rows.requires_grad_())
