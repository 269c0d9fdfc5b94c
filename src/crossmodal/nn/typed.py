"""Types that PyTorch leaves open: of the modules in a container, and of a function's context."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar, cast, overload

from torch import nn

Context = Any  # of an autograd function: it takes any attribute
Layer = TypeVar("Layer", bound=nn.Module)


class ModulesByName(nn.ModuleDict, Generic[Layer]):
    """A dictionary of modules, by modality for example."""

    def __getitem__(self, key: str) -> Layer:
        return cast(Layer, super().__getitem__(key))


class ModulesInOrder(nn.ModuleList, Generic[Layer]):
    """A list of modules."""

    @overload
    def __getitem__(self, idx: slice) -> "ModulesInOrder[Layer]": ...

    @overload
    def __getitem__(self, idx: int) -> Layer: ...

    def __getitem__(self, idx: int | slice) -> "Layer | ModulesInOrder[Layer]":
        return cast("Layer | ModulesInOrder[Layer]", super().__getitem__(idx))

    def __iter__(self) -> Iterator[Layer]:
        return cast(Iterator[Layer], super().__iter__())
