import os

import pytest
import torch

from crossmodal.errors import CrossmodalError
from crossmodal.images.prefetch import prefetched


def squared(number):
    if number < 0:
        raise CrossmodalError(f"number {number}: is negative")
    return torch.tensor([number**2, os.getpid()])


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_come_in_order_from_as_many_processes(workers):
    before = torch.random.get_rng_state()
    found = torch.stack([*prefetched(squared, [(n,) for n in range(7)], workers)])
    assert found[:, 0].tolist() == [n**2 for n in range(7)]
    processes = set(found[:, 1].tolist())
    assert len(processes) == max(workers, 1)
    assert (os.getpid() in processes) == (workers == 0)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_a_worker_raises_is_raised_here(workers):
    results = iter(prefetched(squared, [(2,), (-1,)], workers))
    assert next(results)[0] == 4
    with pytest.raises(CrossmodalError, match="number -1: is negative"):
        next(results)


def test_no_requests_have_no_results():
    assert [*prefetched(squared, [], workers=2)] == []
