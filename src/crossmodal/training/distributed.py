"""Training by several processes, which `torchrun` starts: each embeds its share of every batch.

All draw the same batches and the same random numbers, gather the embeddings of the whole batch, and
compute its loss, each for itself. The gradient of the loss goes back into a process's own share, so
the sum of the parameters' gradients over all processes is the gradient that one process computes:
only what comes before `in_shares` may have parameters. Layers whose rows see each other, or draw
random numbers, are those of the whole batch too; see `share_layers`.
"""

from collections.abc import Callable, Iterable
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from crossmodal.nn.typed import Context
from crossmodal.training.processes import processes

Layer = Callable[[torch.Tensor], torch.Tensor]


class _Shares:
    """Rows of a batch that this process embeds: `part` of `count`; None outside of `in_shares`."""

    part: slice | None = None
    count: int = 0


def in_shares(embed: Callable[[slice], torch.Tensor], count: int) -> torch.Tensor:
    """Embed a batch, each process its share; return all embeddings, (count, ...), in each.

    Args:
        embed: Embeddings of some rows of the batch. Its results must have one shape and type, but
            for their number, and it must draw from PyTorch's generator as for the whole batch.
        count: Rows of the batch; of a batch with fewer rows than processes, each makes all.
    """
    total = processes()
    if total == 1:
        return embed(slice(0, count))
    if count < total:
        return _Repeated.apply(embed(slice(0, count)), total)
    rank = dist.get_rank()
    part = slice(rank * count // total, (rank + 1) * count // total)
    _Shares.part, _Shares.count = part, count
    try:
        share = embed(part)
    finally:
        _Shares.part = None
    return _Gathered.apply(share, part, count)


def add_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each parameter's gradient by its sum over the processes."""
    if processes() == 1:
        return
    for parameter in parameters:
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)


def share_layers(network: nn.Module) -> None:
    """Let batch norms take the statistics of the whole batch, and dropouts draw for all its rows.

    Parameters and state stay where they are. A processor then drops what one process alone would; a
    GPU draws other numbers.
    """
    if processes() == 1:
        return
    # `forward` is replaced, not the layer, so that names of parameters and state stay
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            vars(module)["forward"] = partial(_batch_norm, module, module.forward)
        elif isinstance(module, _DropoutNd):
            vars(module)["forward"] = partial(_dropout, module, module.forward)


def _batch_norm(module: _BatchNorm, alone: Layer, x: torch.Tensor) -> torch.Tensor:
    """Normalise the rows (b, c, ...) of a share by the statistics of the whole batch."""
    if not module.training or not _Shares.part:
        return alone(x)
    axes = [0, *range(2, x.ndim)]
    values = x.to(torch.promote_types(x.dtype, torch.float32))
    count = _Summed.apply(values.new_tensor(x.numel() // x.shape[1]))
    mean = _Summed.apply(values.sum(axes, keepdim=True)) / count
    centred = values - mean
    variance = _Summed.apply(centred.square().sum(axes, keepdim=True)) / count
    with torch.no_grad():
        state, momentum = dict(module.named_buffers()), module.momentum
        assert momentum is not None  # cumulative averages are not supported
        state["num_batches_tracked"].add_(1)
        state["running_mean"].lerp_(mean.flatten(), momentum)
        unbiased = variance.flatten() * count / (count - 1)
        state["running_var"].lerp_(unbiased, momentum)
    shape = (-1, *[1] * (x.ndim - 2))
    scaled = centred * (variance + module.eps).rsqrt() * module.weight.view(shape)
    activation = getattr(module, "act", nn.Identity())  # in timm's networks it belongs to the norm
    return activation((scaled + module.bias.view(shape)).to(x.dtype))


def _dropout(module: _DropoutNd, alone: Layer, x: torch.Tensor) -> torch.Tensor:
    """Drop entries of the rows (b, ...) of a share, drawn for the whole batch."""
    if not module.training or not _Shares.part:
        return alone(x)
    mask = x.new_empty(_Shares.count, *x.shape[1:]).bernoulli_(1 - module.p)[_Shares.part]
    return x * mask.div_(1 - module.p)


class _Summed(torch.autograd.Function):
    """The sum over the processes, of which each uses a part of the result."""

    @staticmethod
    def forward(ctx: Context, x: torch.Tensor) -> torch.Tensor:
        return _sum(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_sum: torch.Tensor) -> torch.Tensor:
        return _sum(d_sum)


class _Gathered(torch.autograd.Function):
    """Rows of all processes in order; each gets the gradient of its own."""

    @staticmethod
    def forward(ctx: Context, share: torch.Tensor, part: slice, count: int) -> torch.Tensor:
        ctx.part = part
        whole = share.new_zeros(count, *share.shape[1:])
        whole[part] = share
        dist.all_reduce(whole)  # shares may differ in size; to add zero changes nothing
        return whole

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_whole: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return d_whole[ctx.part], None, None


class _Repeated(torch.autograd.Function):
    """Rows that each of `total` processes computes: their gradients will be added."""

    @staticmethod
    def forward(ctx: Context, x: torch.Tensor, total: int) -> torch.Tensor:
        ctx.total = total
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_x: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return d_x / ctx.total, None


def _sum(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total
