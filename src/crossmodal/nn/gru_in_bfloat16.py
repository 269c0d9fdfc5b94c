"""The states of `crossmodal.nn.gru` in bfloat16, for processors that multiply it fast.

Products are PyTorch's; all that lies between two of them is one pass over the rows, in float32 but
for what is stored. PyTorch's operations one by one take as long as the products.
"""

# kept since each of them is one more pass over memory: see benchmarks/training.py

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from numba import njit
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from crossmodal.nn.gru import states_before
from crossmodal.nn.typed import Context

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

Function = TypeVar("Function", bound=Callable[..., object])

# sums may be reordered; NaN and infinity keep their meaning
FAST = {"reassoc", "contract", "nsz"}
ONE, TWO = np.float32(1), np.float32(2)
LOG2_E = np.float32(math.log2(math.e))
# Taylor's of 2^x, off by 0.0001 of it at most up to x = 1: bfloat16 has steps of 0.008
P_0, P_1, P_2, P_3, P_4, P_5 = (np.float32(math.log(2) ** k / math.factorial(k)) for k in range(6))


def states_in_bfloat16(
    inputs: torch.Tensor,
    rows: torch.Tensor,
    sizes: list[int],
    weight: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    """Return the state after each step of each sequence; see `gru_states`.

    Args:
        inputs: In bfloat16.
        rows: See `gru_states`.
        sizes: See `gru_states`.
        weight: See `gru_states`.
        bias: See `gru_states`.
    """
    return _States.apply(inputs, rows, sizes, weight, bias)


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
        dims, first = weight.shape[1], sizes[0]
        weight, bias = weight.bfloat16(), bias.bfloat16()
        saved = inputs.new_empty(len(rows), 5 * dims)  # r, u, g, U_g h + b and h
        states = inputs.new_empty(first + len(rows), dims)
        states[:first] = 0  # h_0
        recurrent, old, start = bias.repeat(first, 1), 0, 0
        x, ids, h, gates = (_memory(x) for x in (inputs, rows, states, saved))
        for step, size in enumerate(sizes):
            if step:
                recurrent = linear(states[old : old + size], weight, bias)
            _step(_memory(recurrent), x, ids, h, gates, old, start)
            old, start = first + start, start + size
        ctx.save_for_backward(rows, saved, states[first:], weight)
        ctx.sizes, ctx.distinct = sizes, len(inputs)
        return states[first:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_all: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        rows, saved, states, weight = ctx.saved_tensors
        dims, sizes, first = weight.shape[1], ctx.sizes, ctx.sizes[0]
        d_recurrent, d_g = states.new_empty(len(rows), 3 * dims), torch.empty_like(states)
        d_states = torch.zeros(first, dims)
        gates, d_y, d_candidates = (_memory(x) for x in (saved, d_recurrent, d_g))
        stop = len(rows)
        for size in reversed(sizes):
            start = stop - size
            d_state = d_states[:size].add_(d_all[start:stop])
            _step_back(_memory(d_state), gates, d_y, d_candidates, start)
            if start:
                d_state.add_(d_recurrent[start:stop] @ weight)
            stop = start
        d_inputs = torch.zeros(ctx.distinct, 3 * dims)  # a sum in bfloat16 would lose terms
        _add_rows(d_y, d_candidates, _memory(rows), _memory(d_inputs))
        d_weight = d_recurrent[first:].T @ states_before(states, sizes)[first:]
        d_bias = d_recurrent.sum(0, dtype=torch.float32) if ctx.needs_input_grad[4] else None
        return d_inputs, None, None, d_weight.float(), d_bias


def _memory(x: torch.Tensor) -> np.ndarray:
    """Return the memory of a tensor; NumPy has no bfloat16."""
    return (x.view(torch.uint16) if x.dtype == torch.bfloat16 else x).numpy()


def _compiled(function: Function) -> "Dispatcher[Function]":
    """Compile a function at its first call."""
    return njit(function, error_model="numpy", fastmath=FAST)


@_compiled
def _wide(bits):  # type: ignore[no-untyped-def]  # numba infers the types of what is inlined
    """Return the float32 of the bits of a bfloat16."""
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)


@_compiled
def _narrow(x):  # type: ignore[no-untyped-def]
    """Return the bits of the nearest bfloat16, the even one of two."""
    bits = np.float32(x).view(np.uint32)
    half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return np.uint16(np.uint32(bits + half) >> np.uint32(16))


@_compiled
def _sigmoid(x):  # type: ignore[no-untyped-def]
    """Return 1 / (1 + exp(-x)); a library's exp is called number by number."""
    power = min(max(-x * LOG2_E, np.float32(-126)), np.float32(126))
    whole = np.floor(power)
    part = power - whole
    value = P_0 + part * (P_1 + part * (P_2 + part * (P_3 + part * (P_4 + part * P_5))))
    scale = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
    return ONE / (ONE + value * scale)


# few arrays each, and offsets for parts of them: otherwise the compiler expects them to overlap


@_compiled
def _step(
    recurrent: np.ndarray,
    inputs: np.ndarray,
    rows: np.ndarray,
    states: np.ndarray,
    saved: np.ndarray,
    old: int,
    start: int,
) -> None:
    """Take a step of the sequences that begin it with the states from row `old` on.

    Args:
        recurrent: U h + b of each.
        inputs: See `gru_states`.
        rows: See `gru_states`.
        states: h_0 of all sequences, then the states after each step.
        saved: r, u, g, U_g h + b and h of each step.
        old: First row of `states` that is read.
        start: First row of `saved` that is filled.
    """
    dims, first = states.shape[1], len(states) - len(rows)
    for i in range(len(recurrent)):
        x, y, gates = inputs[rows[start + i]], recurrent[i], saved[start + i]
        before, after = states[old + i], states[first + start + i]
        for j in range(dims):
            r = _sigmoid(_wide(x[j]) + _wide(y[j]))
            u = _sigmoid(_wide(x[dims + j]) + _wide(y[dims + j]))
            c, h = _wide(y[2 * dims + j]), _wide(before[j])
            g = TWO * _sigmoid(TWO * (_wide(x[2 * dims + j]) + r * c)) - ONE
            gates[j], gates[dims + j], gates[2 * dims + j] = _narrow(r), _narrow(u), _narrow(g)
            gates[3 * dims + j], gates[4 * dims + j] = _narrow(c), _narrow(h)
            after[j] = _narrow(g + u * (h - g))


@_compiled
def _step_back(
    d_states: np.ndarray,
    saved: np.ndarray,
    d_recurrent: np.ndarray,
    d_g: np.ndarray,
    start: int,
) -> None:
    """Fill the gradients of a step's U h + b, and of g before its function, from row `start` on.

    `d_states` keeps the part that reaches h by way of u * h.
    """
    dims = d_states.shape[1]
    for i in range(len(d_states)):
        d, gates = d_states[i], saved[start + i]
        out, d_candidate = d_recurrent[start + i], d_g[start + i]
        for j in range(dims):
            r, u, g = _wide(gates[j]), _wide(gates[dims + j]), _wide(gates[2 * dims + j])
            c, h = _wide(gates[3 * dims + j]), _wide(gates[4 * dims + j])
            by_g = d[j] * (ONE - u) * (ONE - g * g)
            out[j] = _narrow(by_g * c * r * (ONE - r))
            out[dims + j] = _narrow(d[j] * (h - g) * u * (ONE - u))
            out[2 * dims + j] = _narrow(by_g * r)
            d_candidate[j] = _narrow(by_g)
            d[j] *= u


@_compiled
def _add_rows(
    d_recurrent: np.ndarray, d_g: np.ndarray, rows: np.ndarray, d_inputs: np.ndarray
) -> None:
    """Add the gradients of the gates to those of their inputs."""
    dims = d_g.shape[1]
    for i in range(len(rows)):
        gates, d_candidate, out = d_recurrent[i], d_g[i], d_inputs[rows[i]]
        for j in range(2 * dims):
            out[j] += _wide(gates[j])
        for j in range(dims):
            out[2 * dims + j] += _wide(d_candidate[j])
