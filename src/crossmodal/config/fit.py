"""A fit: all that it depends on but its data, its seed and the code; its digest names a run."""

from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, Field, PlainSerializer

from crossmodal.data.changes import Changes
from crossmodal.data.split import Relevance
from crossmodal.plugin import Strict

Modality = Literal["image", "text", "speech"]
Options = dict[str, object]
Values = dict[str, Annotated[list[object], Field(min_length=1)]]  # of options that vary
# another label changes no number
Unlabelled = Annotated[
    Changes | None,
    PlainSerializer(lambda value: value and value.model_dump(exclude={"label"})),
]


class Entry(TypedDict):
    """A plug-in, by its file's name, and its options."""

    plugin: str
    options: Options


def non_defaults(model: BaseModel) -> dict[str, object]:
    """Return the fields that differ from their default, as JSON has them."""
    fields = type(model).model_fields
    return {k: v for k, v in model.model_dump().items() if v != fields[k].get_default()}


class Fit(Strict):
    """A method with its options on views of a dataset.

    Attributes:
        plugin: File of the method.
        options: Its options, those with a default too.
        search: Option -> values, one combination of which is chosen on the validation split.
        searched_by: 'first' if the first seed searches for all.
        views: Modality -> feature; the first two are retrieved.
        relevance: What is relevant.
        changes: Changes of the dataset's categories.
    """

    plugin: str
    options: Options
    search: Values
    views: dict[str, str]
    relevance: Relevance
    searched_by: Literal["first"] | None = None
    changes: Unlabelled = None
