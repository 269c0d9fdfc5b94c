"""A limit on the numbers of a network that is being built."""

import math
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class LimitedTensors(TorchDispatchMode):
    """Refuses to make more numbers than a limit, within a `with` block.

    Args:
        limit: Numbers of all tensors that are made from sizes.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit, self._count = limit, 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Count what is made from sizes, before it is; then make it.

        Raises:
            ValueError: If it is too much.
        """
        if args and isinstance(args[0], list | tuple):
            self._count += math.prod(size for size in args[0] if isinstance(size, int))
            if self._count > self._limit:
                raise ValueError(
                    f"its options ask for {self._count:,} numbers or more, but the stored tensors "
                    f"have {self._limit:,} bytes"
                )
        return func(*args, **(kwargs or {}))
