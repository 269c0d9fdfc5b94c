"""Matrix products on a CPU, by oneDNN.

PyTorch gives products of float32 matrices to MKL, which uses AVX-512 only on Intel's processors.
oneDNN, which comes with PyTorch too, uses it on all; `benchmarks/products.py` measures the gain.
"""

# kept since products are most of a step's time on a processor that is not Intel's

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from crossmodal.nn.typed import Context


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a b^T (m, n) of a (m, k) and b (n, k), without a gradient.

    Both are contiguous or transposes of what is: oneDNN is slow with parts of rows.
    """
    if _by_onednn(a) and a.shape[1]:  # it refuses empty sums
        return torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")
    return a @ b.T


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return x weight^T + bias (m, n) of x (m, k), as `torch.nn.functional.linear`."""
    if _by_onednn(x):
        return _Linear.apply(x, weight, bias)
    return nn.functional.linear(x, weight, bias)


class Linear(nn.Linear):
    """`torch.nn.Linear` for rows (m, k)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map rows."""
        return linear(x, self.weight, self.bias)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        y = product(x, weight)
        return y if bias is None else y.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_y: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        d_y = d_y.contiguous()
        return (
            product(d_y, weight.T) if ctx.needs_input_grad[0] else None,
            product(d_y.T, x.T) if ctx.needs_input_grad[1] else None,
            d_y.sum(0) if ctx.needs_input_grad[2] else None,
        )


def _by_onednn(x: torch.Tensor) -> bool:
    on_cpu = x.device.type == "cpu" and x.dtype == torch.float32
    return on_cpu and torch.backends.mkldnn.is_available()
