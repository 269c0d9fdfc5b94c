"""Processes that fit a method together, started by `torchrun`.

A process that torchrun did not start is alone, and need not wait for PyTorch.
"""

import datetime
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TypeVar, cast

from crossmodal.errors import CrossmodalError

# the others wait while the first one validates; torchrun ends all when one fails
PATIENCE = datetime.timedelta(days=7)

Result = TypeVar("Result")


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that torchrun started with this one, by NCCL on GPUs, gloo elsewhere.

    Raises:
        CrossmodalError: If there are fewer GPUs than processes.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield
        return
    import torch

    local, wanted = (int(os.environ[name]) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    if torch.cuda.is_available():
        if wanted > torch.cuda.device_count():
            raise CrossmodalError(
                f"gpus: is {wanted}, but this machine has {torch.cuda.device_count()}; "
                "ask for no more"
            )
        torch.cuda.set_device(local)
    torch.distributed.init_process_group(timeout=PATIENCE)
    yield
    torch.distributed.destroy_process_group()


def processes() -> int:
    """Return how many processes train together."""
    group = _group()
    return group.get_world_size() if group else 1


def is_first() -> bool:
    """Return whether this process is the one that validates, writes and reports."""
    group = _group()
    return not group or group.get_rank() == 0


def broadcast_from_first(compute: Callable[[], Result]) -> Result:
    """Compute in the first process alone, and return its result in all of them."""
    group = _group()
    if not group or group.get_world_size() == 1:
        return compute()
    results = [compute() if is_first() else cast(Result, None)]
    group.broadcast_object_list(results, device="cpu")
    return results[0]


def _group() -> ModuleType | None:
    """Return PyTorch's module of this process and those it has joined, or None."""
    module = sys.modules.get("torch.distributed")
    return module if module and module.is_initialized() else None
