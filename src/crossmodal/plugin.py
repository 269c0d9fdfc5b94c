"""Options of plug-ins: one model per plug-in describes each of them once."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(gt=0)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Language = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$")]  # BCP 47


class Strict(BaseModel):
    """Unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Plugin:
    """Base class of datasets, features and methods, which are made from options.

    A subclass describes its options in a class `Options(Strict)` inside of it, one
    `Field(description=...)` each, with the unit where there is one.

    Args:
        options: Exactly the fields of `Options`.

    Attributes:
        options: The checked options.

    Raises:
        pydantic.ValidationError: If an option is unknown, missing, or out of its range.
    """

    Options: ClassVar[type[Strict]] = Strict
    options: Any  # a subclass declares it as its own `Options`

    def __init__(self, **options: object) -> None:
        self.options = self.Options(**options)
