"""The last states of a GRU on a processor, for sequences packed side by side.

    r, u = s(x_ru + U_ru h),   g = tanh(x_g + r * (U_g h)),   h' = u * h + (1 - u) * g,   h_0 = 0

The inputs x = W e + b come ready-made and only once for each different word, which are a quarter of
the words in a batch of captions. PyTorch's own GRU adds to the gradient of U at every step; here it
is one product over all steps, of the states that are kept from the forward pass.
"""

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from crossmodal.encoders.products import product


def last_states(
    inputs: torch.Tensor, places: torch.Tensor, sizes: list[int], weight: torch.Tensor
) -> torch.Tensor:
    """Last state of each sequence, (b, D).

    Args:
        inputs: x of each different word, (n, 3 D) for r, u and g.
        places: Row of `inputs` of each step, (sum of lengths,); the steps are those of a
            `torch.nn.utils.rnn.PackedSequence`: longest sequence first, step by step.
        sizes: Number of sequences that have a step, b = sizes[0] >= sizes[1] >= ...
        weight: U, (3 D, D).
    """
    return _LastStates.apply(inputs, places, sizes, weight)


class _LastStates(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        places: torch.Tensor,
        sizes: list[int],
        weight: torch.Tensor,
    ) -> torch.Tensor:
        dims = weight.shape[1]
        gates = inputs[places]  # (sum of lengths, 3 D), becomes r, u and g
        before, candidates = (inputs.new_empty(len(places), dims) for _ in range(2))  # h, U_g h
        states = inputs.new_zeros(sizes[0], dims)
        steps = zip(*(x.split(sizes) for x in (gates, before, candidates)), strict=True)
        for step, (gate, old, candidate) in enumerate(steps):
            state = states[: len(gate)]
            r, u, g = gate.chunk(3, 1)
            old.copy_(state)
            if step:
                recurrent = product(state, weight)
                gate[:, : 2 * dims] += recurrent[:, : 2 * dims]
                candidate.copy_(recurrent[:, 2 * dims :])
            else:  # h_0 is zero
                candidate.zero_()
            gate[:, : 2 * dims].sigmoid_()
            g.addcmul_(r, candidate).tanh_()
            state.sub_(g).mul_(u).add_(g)
        ctx.save_for_backward(places, gates, before, candidates, weight)
        ctx.sizes, ctx.words = sizes, len(inputs)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_last: torch.Tensor) -> tuple[torch.Tensor, None, None, torch.Tensor]:
        places, gates, before, candidates, weight = ctx.saved_tensors
        dims, first = weight.shape[1], ctx.sizes[0]
        d_gates, d_recurrent = torch.empty_like(gates), torch.empty_like(gates)
        d_states = d_last.clone()
        split = [x.split(ctx.sizes) for x in (gates, before, candidates, d_gates, d_recurrent)]
        for step in reversed(range(len(ctx.sizes))):
            gate, old, candidate, d_gate, d_step = (part[step] for part in split)
            d_state = d_states[: len(gate)]
            _step_back(d_state, gate, old, candidate, d_gate, d_step)
            if step:
                d_state.add_(product(d_step, weight.T))
        d_weight = product(d_recurrent[first:].T, before[first:].T)
        d_inputs = gates.new_zeros(ctx.words, 3 * dims).index_add_(0, places, d_gates)
        return d_inputs, None, None, d_weight


def _step_back(
    d_state: torch.Tensor,
    gate: torch.Tensor,
    old: torch.Tensor,
    candidate: torch.Tensor,
    d_gate: torch.Tensor,
    d_recurrent: torch.Tensor,
) -> None:
    """Fill the gradients of one step's r, u and g, before their functions, and of U h; of `d_state`
    stays what reaches h by way of u * h. `candidate` is U_g h.
    """
    r, u, g = gate.chunk(3, 1)
    d_r, d_u, d_g = d_gate.chunk(3, 1)
    torch.mul(d_state * (1 - u), 1 - g * g, out=d_g)
    torch.mul(d_state * (old - g), u * (1 - u), out=d_u)
    torch.mul(d_g * candidate, r * (1 - r), out=d_r)
    d_recurrent.copy_(d_gate)
    d_recurrent.chunk(3, 1)[2].mul_(r)
    d_state.mul_(u)
