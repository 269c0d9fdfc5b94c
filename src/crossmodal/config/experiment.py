"""Experiments in params.yaml, and groups of them."""

from typing import Annotated, Literal

from pydantic import Field

from crossmodal.config.fit import Modality, Options, Values
from crossmodal.config.grids import combinations, member_name
from crossmodal.config.published_numbers import Published
from crossmodal.data.changes import Changes
from crossmodal.data.split import Relevance
from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Count, Strict

PublishedColumn = Literal["paper", "table", "dataset", "method", "variant"]
# a name becomes part of paths, and of Snakemake's regular expressions
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]


class Common(Strict):
    """Settings of an experiment, or of several together."""

    label: str = Field("", description="Name of the row.")
    dataset: str = Field("", description="A key of `datasets`.")
    views: dict[Modality, str] = Field(
        {}, description="Modality -> key of `features`; the first two are retrieved, both ways."
    )
    embeddings: dict[Modality, Options] = Field(
        {},
        description="Modality -> options of the feature `array`: embeddings that another program "
        "computed, scored by their cosine, in place of views and method; tables mark the row.",
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
    facts: dict[str, float] = Field(
        {},
        description="Numbers that tell the experiment from others, such as the accuracy of its "
        "network, for the x of figures; {name} in a label is the number.",
    )


class Settings(Common):
    """Settings as params.yaml has them, before labels are filled in.

    In labels and published rows, {method} and the modality of a view, for example {image}, stand
    for the labels of both; in a published row, {method} is the name of the method in the papers.
    """

    published: dict[PublishedColumn, str] | None = Field(
        None, description="The row that is reproduced: columns of published/retrieval.csv."
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


class Experiment(Common):
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
        """Return the experiments of its grid by name; itself, called `name`, without one."""
        return {member_name(name, each): self._member(each) for each in combinations(self.grid)}

    def _member(self, chosen: Options) -> "Experiment":
        source = self.published
        if source:
            source = source.model_copy(update={"variant": _filled(source.variant, chosen)})
        grid = {option: [value] for option, value in chosen.items()}
        return self.model_copy(update={"grid": grid, "published": source})

    def set_by_grid(self) -> Options:
        """Return the options of a grid's member that tell it from the other ones."""
        return {option: values[0] for option, values in self.grid.items()}

    def row(self, without: str = "") -> str:
        """Return the name of the row, with changes of the dataset and options of the grid, but one.

        An option stands where the label has its name in braces, else at the end; facts stand there
        alone, and are left out together. What is left out takes the words between its commas along.
        """
        varying = [f"{{{name}}}" for name in (self.facts if without in self.facts else [without])]
        first, *further = self.label.split(", ")
        fixed = [part for part in further if not any(name in part for name in varying)]
        label, options = ", ".join([first, *fixed]), []
        for fact, number in self.facts.items():
            label = label.replace(f"{{{fact}}}", "..." if without in self.facts else f"{number:g}")
        for option, value in self.set_by_grid().items():
            if f"{{{option}}}" in label:
                own = f"{value:g}" if isinstance(value, float) else str(value)
                text = "..." if option == without else own
                label = label.replace(f"{{{option}}}", text)
            elif option != without:
                options.append(f"{option} {value}")
        changes = self.changes.label if self.changes else ""
        return ", ".join(filter(None, [label, changes, *options]))


def _filled(variant: str, chosen: Options) -> str:
    try:
        return variant.format(**chosen)
    except (KeyError, IndexError, ValueError) as error:
        options = ", ".join(chosen) or "none"
        raise CrossmodalError(
            f"published.variant: {variant!r}: {error}; in braces go options of the grid: {options}"
        ) from None
