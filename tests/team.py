"""Processes that train together, as torchrun starts them; what they run must be importable."""

import copy
import os
import socket
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import torch
from torch import nn

from crossmodal.learning.method import Run
from crossmodal.repeatability import use_one_thread
from crossmodal.training.distributed import add_gradients, in_shares, share_layers
from crossmodal.training.processes import joined


class Team:
    """So many processes, which wait between two calls."""

    def __init__(self, size):
        self.size = size
        context = get_context("forkserver")
        # imported once for all processes; the second by the first optimizer of each
        context.set_forkserver_preload([__name__, "torch._dynamo"])
        self.pool = ProcessPoolExecutor(size, context, use_one_thread)

    def call(self, function, *given):
        """What each process returns, in order."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = [partial(_as_rank, rank, self.size, port) for rank in range(self.size)]
        waiting = [self.pool.submit(as_rank, function, *given) for as_rank in ranks]
        return [answer.result(timeout=300) for answer in waiting]


def _as_rank(rank, size, port, function, *given):
    facts = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    facts |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "team"}
    os.environ.update({name: str(value) for name, value in facts.items()})
    with joined():
        return function(*given)


def learn(layers, x, steps=3):
    """Losses, gradients and state after some steps with a loss of all rows with all others."""
    torch.manual_seed(0)
    network = nn.Sequential(
        *copy.deepcopy(layers)
    ).double()  # processes share the memory of tensors
    share_layers(network)
    optimizer = torch.optim.SGD(network.parameters(), 0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        y = in_shares(lambda part: network(x[part]), len(x))
        loss = (y @ y.T).tanh().square().sum() + y.std(0).sum()
        loss.backward()
        add_gradients(network.parameters())
        optimizer.step()
        losses.append(loss.item())
    gradients = [parameter.grad for parameter in network.parameters()]
    return losses, gradients, list(network.state_dict().values())


def fit(method, train, validation, checkpoints=None, stop_at=None):
    """Learning curve and state of a fit, which may be interrupted before an epoch."""
    batches = method.batches

    def until(epoch, rng):
        if epoch == stop_at:
            raise KeyboardInterrupt
        return batches(epoch, rng)

    method.batches = until
    run = Run(seed=0, checkpoints=checkpoints)
    try:
        method.fit(train, validation, run)
    except KeyboardInterrupt:
        return None
    return run.curve, method.state()


def first_step(method, train):
    """Loss of a method's first batch, and the gradient of each parameter."""
    torch.manual_seed(0)
    method.network = method.build(train.views)
    share_layers(method.network)
    method.place(train)
    method.optimizer()
    method.network.train()
    loss = method.loss(next(iter(method.batches(0, np.random.default_rng(0)))))
    loss.backward()
    add_gradients(method.network.parameters())
    named = method.network.named_parameters()
    return loss.item(), {n: p.grad.numpy() for n, p in named if p.grad is not None}
