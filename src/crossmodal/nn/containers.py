"""PyTorch's containers for modules of one type, which the type checker then knows."""

from collections.abc import Iterator
from typing import Generic, TypeVar, cast, overload

from torch import nn

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
