"""The states of a GRU on a CPU, for sequences packed side by side.

    r, u = s(x_ru + U_ru h + b_ru),   g = tanh(x_g + r * (U_g h + b_g)),   h' = u * h + (1 - u) * g,
    h_0 = 0

The inputs x = W e are computed beforehand, once for each distinct e: a batch of captions has four
times as many words as distinct words. PyTorch's own GRU adds to the gradients of U and x at every
step; here each is one product over all steps.
"""

# kept since the GRU is most of a caption pipeline's step on a CPU: see benchmarks/training.py

from functools import cache
from pathlib import Path

import torch
from torch.autograd.function import once_differentiable

from crossmodal.nn import onednn
from crossmodal.nn.typed import Context


def gru_states(
    inputs: torch.Tensor,
    rows: torch.Tensor,
    sizes: list[int],
    weight: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    """Return the state after each step of each sequence, (sum of lengths, D).

    Args:
        inputs: x of each distinct e, (n, 3 D) for r, u and g.
        rows: Row of `inputs` of each step, (sum of lengths,); the steps are those of a
            `torch.nn.utils.rnn.PackedSequence`: longest sequence first, step by step.
        sizes: Number of sequences that have a step, b = sizes[0] >= sizes[1] >= ...
        weight: U, (3 D, D).
        bias: b, (3 D,).
    """
    if inputs.dtype == torch.bfloat16:
        # numba, which float32 need not wait for
        from crossmodal.nn.gru_in_bfloat16 import states_in_bfloat16

        return states_in_bfloat16(inputs, rows, sizes, weight, bias)
    return _States.apply(inputs, rows, sizes, weight, bias)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a b^T (m, n) of a (m, k) and b (n, k), without a gradient; see `onednn.product`."""
    return a @ b.T if _mkl_is_faster() else onednn.product(a, b)


def backward_order(sizes: list[int]) -> torch.Tensor:
    """Order the rows of a packed sequence from the last step of each sequence to its first.

    Args:
        sizes: Number of sequences that have a step, b = sizes[0] >= sizes[1] >= ...

    Returns:
        (sum of lengths,); the first b are the last steps, longest sequence first.
    """
    counts = torch.tensor(sizes)
    starts = counts.cumsum(0) - counts  # first row of each step
    inside = counts[:, None] > torch.arange(sizes[0])  # (steps, sequences)
    mirrored = inside.sum(0) - 1 - torch.arange(len(sizes))[:, None]
    return (starts[mirrored] + torch.arange(sizes[0]))[inside]


@cache
def _mkl_is_faster() -> bool:
    """Return whether MKL takes less time for the small products of a step.

    With AVX-512 on Intel's processors it does; `portable` allows none of them AVX-512.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    facts = Path("/proc/cpuinfo")
    return facts.exists() and "GenuineIntel" in facts.read_text()


class _States(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        inputs: torch.Tensor,
        rows: torch.Tensor,
        sizes: list[int],
        weight: torch.Tensor,
        bias: torch.Tensor,
    ) -> torch.Tensor:
        dims = weight.shape[1]
        gates = inputs[rows]  # (sum of lengths, 3 D), becomes r, u and g
        states, candidates = (inputs.new_empty(len(rows), dims) for _ in range(2))  # h', U_g h + b
        recurrent, before = bias.expand(sizes[0], -1), inputs.new_zeros(sizes[0], dims)
        steps = zip(*(x.split(sizes) for x in (gates, states, candidates)), strict=True)
        for step, (gate, state, candidate) in enumerate(steps):
            old = before[: len(gate)]
            if step:  # h_0 is zero
                recurrent = product(old, weight).add_(bias)
            r, u, g = gate.chunk(3, 1)
            gate[:, : 2 * dims].add_(recurrent[:, : 2 * dims]).sigmoid_()
            candidate.copy_(recurrent[:, 2 * dims :])
            g.addcmul_(r, candidate).tanh_()
            torch.sub(old, g, out=state).mul_(u).add_(g)
            before = state
        ctx.save_for_backward(rows, gates, states, candidates, weight)
        ctx.sizes, ctx.distinct = sizes, len(inputs)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_all: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        rows, gates, states, candidates, weight = ctx.saved_tensors
        dims, sizes, first = weight.shape[1], ctx.sizes, ctx.sizes[0]
        before = states_before(states, sizes)
        d_g, d_recurrent = torch.empty_like(states), torch.empty_like(gates)
        d_states = states.new_zeros(first, dims)
        whole = (d_all, gates, *_derivatives(gates, before, candidates), d_g, d_recurrent)
        arrays = [x.split(sizes) for x in whole]
        for step in reversed(range(len(sizes))):
            d_after, *parts = (array[step] for array in arrays)
            d_state = d_states[: len(d_after)].add_(d_after)
            _step_back(d_state, *parts)
            if step:  # h_0 is zero
                d_state.add_(product(parts[-1], weight.T))
        d_gates = torch.cat([d_recurrent[:, : 2 * dims], d_g], dim=1)
        d_inputs = gates.new_zeros(ctx.distinct, 3 * dims).index_add_(0, rows, d_gates)
        d_weight = product(d_recurrent[first:].T, before[first:].T)
        return d_inputs, None, None, d_weight, d_recurrent.sum(0)


def states_before(states: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """Return the state that each step begins with, (sum of lengths, D)."""
    after = states.split(sizes)
    longer = zip(after, sizes[1:], strict=False)
    return torch.cat([torch.zeros_like(after[0]), *(state[:size] for state, size in longer)])


def _derivatives(
    gates: torch.Tensor, before: torch.Tensor, candidates: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return dh'/dg, dh'/du and dg/dr, before their functions: (sum of lengths, D) each.

    Those of all steps at once: a small operation takes as long as its call.
    """
    r, u, g = gates.chunk(3, 1)
    other = 1 - u
    return other * (1 - g * g), (before - g) * u * other, candidates * r * (1 - r)


def _step_back(
    d_state: torch.Tensor,
    gate: torch.Tensor,
    by_g: torch.Tensor,
    by_u: torch.Tensor,
    by_r: torch.Tensor,
    d_g: torch.Tensor,
    d_recurrent: torch.Tensor,
) -> None:
    """Fill the gradients of one step's g, before its function, and of U h + b.

    `d_state` keeps the part that reaches h by way of u * h.
    """
    r, u, _ = gate.chunk(3, 1)
    d_r, d_u, d_candidate = d_recurrent.chunk(3, 1)
    torch.mul(d_state, by_g, out=d_g)
    torch.mul(d_state, by_u, out=d_u)
    torch.mul(d_g, by_r, out=d_r)
    torch.mul(d_g, r, out=d_candidate)
    d_state.mul_(u)
