"""Batches of pixels that worker processes prepare while the device computes."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch.utils.data import DataLoader, Dataset

from crossmodal.device import device

AHEAD = 2  # batches that each worker prepares before they are asked for


class _Requests(Dataset):
    """A dataset whose indices are requests, the arguments of `prepare`."""

    def __init__(self, prepare: Callable[..., torch.Tensor]) -> None:
        self.prepare = prepare

    def __getitem__(self, request: tuple[object, ...]) -> torch.Tensor:
        return self.prepare(*request)


def prefetched(
    prepare: Callable[..., torch.Tensor], requests: Sequence[tuple[object, ...]], workers: int
) -> Iterable[torch.Tensor]:
    """Yield the result of each request, in order, in pinned memory where a GPU waits for it.

    Args:
        prepare: Its result must depend only on its arguments.
        requests: Its arguments, for each result.
        workers: Processes that call it; 0: this one does, when a result is asked for.

    Raises:
        CrossmodalError: What `prepare` raises, when its result is asked for.
    """
    return DataLoader(
        _Requests(prepare),
        batch_size=None,
        sampler=requests,
        num_workers=workers,
        pin_memory=device().type == "cuda",
        prefetch_factor=AHEAD if workers else None,
        multiprocessing_context="fork" if workers else None,  # they share what has been read
        generator=torch.Generator(),  # or it would draw from the global one
    )
