"""What params.yaml says of experiments."""

from typing import Annotated, Any, Literal

from pydantic import Field

from crossmodal.config.fit import Options
from crossmodal.config.grids import combinations, member_name
from crossmodal.config.published_numbers import Published
from crossmodal.data.changes import Changes
from crossmodal.data.split import Relevance
from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Count, Strict

Modality = Literal["image", "text", "speech"]
PublishedColumn = Literal["paper", "table", "dataset", "method", "variant"]
# a name becomes part of paths, and of Snakemake's regular expressions
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
Values = dict[str, Annotated[list[Any], Field(min_length=1)]]


class Settings(Strict):
    """What may be said of an experiment, or of several together.

    In labels and published rows, {method} and the modality of a view, for example {image}, stand
    for the labels of both; in a published row, {method} is the name of the method in the papers.
    """

    label: str = Field("", description="Name of the row.")
    dataset: str = Field("", description="A key of `datasets`.")
    views: dict[Modality, str] = Field(
        {}, description="Modality -> key of `features`; the first two are retrieved, both ways."
    )
    relevance: Relevance = Field(
        "category",
        description="What is relevant: the same 'category', or any of the 'labels' in common.",
    )
    changes: Changes | None = Field(
        None, description="Changes of the dataset's categories, for this experiment alone."
    )
    method: str = Field("", description="A key of `methods`.")
    options: Options = Field({}, description="Options of the method that differ from `methods`.")
    search: Values = Field(
        {}, description="Option -> values; the best combination on the validation split is kept."
    )
    searched_by: Literal["each", "first"] = Field(
        "each",
        description="'each' seed searches for itself, or the 'first' for all: the others take its "
        "options, which is as many times faster as there are combinations.",
    )
    grid: Values = Field(
        {}, description="Option -> values; each combination is an experiment, <name>-<values>."
    )
    seeds: Annotated[int, Field(gt=0)] | None = Field(
        None, description="Number of seeds, instead of the global `seeds`."
    )
    gpus: Count = Field(
        1,
        description="Processes that train it together, where its method can, each on a GPU of one "
        "machine or without; what is learnt differs by rounding alone.",
    )
    beside: Name | None = Field(
        None,
        description="Experiment on the same dataset and views whose results for the same queries "
        "the page of examples shows too.",
    )
    published: dict[PublishedColumn, str] | None = Field(
        None, description="The row that is reproduced: columns of published/retrieval.csv."
    )
    facts: dict[str, float] = Field(
        {},
        description="Numbers that tell the experiment from others, such as the accuracy of its "
        "network, for the x of figures; {name} in a label is the number.",
    )


class Row(Settings):
    """An experiment of a group, as far as it differs from the group."""

    of: Name | None = Field(
        None, description="Row of the group that gives all that is not said here."
    )


class Group(Settings):
    """One experiment; or with rows a group of them, called <prefix>_<variant>_<row>."""

    base: Name | None = Field(None, description="Entry that gives all that is not said here.")
    prefix: Name | None = Field(
        None, description="Prefix of the experiments' names; by default the group's own name."
    )
    variants: dict[Name, Settings | None] = Field(
        {},
        description="Each row is an experiment for each variant; null drops a variant of the base.",
    )
    rows: dict[Name, Row | None] = Field(
        {}, description="The experiments; null drops a row of the base."
    )


class Experiment(Settings):
    """One row of a table: a method on a dataset's features; with a grid, one row per combination.

    The first two views are retrieved, in both directions; further views only help training.
    """

    label: str
    dataset: str
    views: dict[Modality, str] = Field(min_length=2)
    relevance: Relevance
    method: str
    published: Published | None = None

    def members(self, name: str) -> dict[str, "Experiment"]:
        """The experiments of its grid by name; itself, called `name`, without one."""
        return {
            member_name(name, chosen): self._member(chosen) for chosen in combinations(self.grid)
        }

    def _member(self, chosen: Options) -> "Experiment":
        source = self.published
        if source:
            source = source.model_copy(update={"variant": _filled(source.variant, chosen)})
        grid = {option: [value] for option, value in chosen.items()}
        return self.model_copy(update={"grid": grid, "published": source})

    def set_by_grid(self) -> Options:
        """Options of a grid's member that tell it from the other ones."""
        return {option: values[0] for option, values in self.grid.items()}

    def row(self, without: str = "") -> str:
        """Name of the row, with changes of the dataset and the options set by the grid, but one.

        An option stands where the label has its name in braces, else at the end; facts stand there
        alone, and are left out together. What is left out takes the words between its commas along.
        """
        varying = [f"{{{name}}}" for name in (self.facts if without in self.facts else [without])]
        first, *further = self.label.split(", ")
        kept = [part for part in further if not any(name in part for name in varying)]
        label, options = ", ".join([first, *kept]), []
        for fact, value in self.facts.items():
            label = label.replace(f"{{{fact}}}", "..." if without in self.facts else f"{value:g}")
        for option, value in self.set_by_grid().items():
            if f"{{{option}}}" in label:
                shown = "..." if option == without else _shown(value)
                label = label.replace(f"{{{option}}}", shown)
            elif option != without:
                options.append(f"{option} {value}")
        changes = [self.changes.label] if self.changes else []
        return ", ".join([label, *changes, *options])


def _filled(variant: str, chosen: Options) -> str:
    try:
        return variant.format(**chosen)
    except (KeyError, IndexError, ValueError) as error:
        known = ", ".join(chosen) or "none"
        raise CrossmodalError(
            f"published.variant: {variant!r}: {error}; in braces go options of the grid: {known}"
        ) from None


def _shown(value: Any) -> str:
    """A value of an option in a label."""
    return f"{value:g}" if isinstance(value, float) else str(value)
