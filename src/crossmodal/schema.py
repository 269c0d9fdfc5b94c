"""What params.yaml says of one experiment, one table and one figure."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from crossmodal import plugins
from crossmodal.data import Protocol
from crossmodal.evaluation.published import Published
from crossmodal.search import combinations, member_name

Modality = Literal["image", "text", "speech"]
Metric = Literal[
    "mAP",
    "mAP@50",
    "R@1",
    "R@5",
    "R@10",
    "MedR",
    "MeanR",
    "rsum",
    "successful starts of 5",
    "positives",
    "negatives",
    "training time (s)",
    "peak memory (MB)",
]
Retrieval = Literal["cross-modal", "intra-modal"]
Logged = Literal["validation", "loss", "seconds"]
STEP = "step"
# a name becomes part of paths, and of Snakemake's regular expressions
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
Options = dict[str, Any]
Values = dict[str, Annotated[list[Any], Field(min_length=1)]]


class Strict(BaseModel):
    """Unknown keys and wrong types are errors."""

    model_config = plugins.STRICT


class Experiment(Strict):
    """One row of a table: a method on a dataset's features; with a grid, one row per combination.

    The first two views are retrieved, in both directions; further views only help training.
    """

    label: str = Field(description="Name of the row")
    dataset: str = Field(description="A key of `datasets`")
    views: dict[Modality, str] = Field(min_length=2, description="Modality -> key of `features`")
    labels: Protocol = Field(description="Relevance: 'single' = same category, 'multi' = any label")
    method: str = Field(description="A key of `methods`")
    options: Options = Field({}, description="Options of the method that differ from `methods`")
    search: Values = Field(
        {}, description="Option -> values; the best combination on the validation split is kept"
    )
    grid: Values = Field(
        {}, description="Option -> values; each combination is an experiment, <name>-<values>"
    )
    seeds: Annotated[int, Field(gt=0)] | None = Field(None, description="Instead of global `seeds`")
    published: Published | None = None

    def members(self, name: str) -> dict[str, "Experiment"]:
        """The experiments of its grid by name; itself, called `name`, without one."""
        return {
            member_name(name, chosen): self._member(chosen) for chosen in combinations(self.grid)
        }

    def _member(self, chosen: Options) -> "Experiment":
        source = self.published
        if source:
            source = source.model_copy(update={"variant": source.variant.format(**chosen)})
        grid = {option: [value] for option, value in chosen.items()}
        return self.model_copy(update={"grid": grid, "published": source})

    def set_by_grid(self) -> Options:
        """Options of a grid's member that tell it from the other ones."""
        return {option: values[0] for option, values in self.grid.items()}

    def row(self, without: str = "") -> str:
        """Name of the row, with the options set by the grid, but one."""
        options = (f"{o} {value}" for o, value in self.set_by_grid().items() if o != without)
        return ", ".join([self.label, *options])


class Map(Strict):
    """A plane on which test items stand as an experiment's embeddings do."""

    experiment: str
    labels: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Items with either or both; or else all items with just one label"
    )


class Table(Strict):
    """One file in results/tables/."""

    title: str
    note: str = ""
    experiments: Annotated[list[str], Field(min_length=1)]
    metrics: Annotated[list[Metric], Field(min_length=1)]
    retrieval: Retrieval = "cross-modal"
    ranked: bool = Field(False, description="Rows in order of the first metric, the best first")
    figures: list[str] = Field([], description="Keys of `figures`, shown below the table")
    map: Map | None = Field(None, description="Drawn below the table")
    similarity: list[str] = Field([], description="Experiments whose matrix of scores is drawn")
    margins: list[str] = Field([], description="Experiments whose margins by epoch are drawn")
    cited: dict[str, Published] = Field({}, description="Label -> row that nothing here reproduces")


class Figure(Strict):
    """One file in results/figures/: a line through the experiments of a grid, or of a training."""

    title: str
    experiments: Annotated[list[str], Field(min_length=1)]
    x: str = Field(description=f"An option whose values are numbers, or '{STEP}' of the training")
    y: Metric | Logged = Field(description="Of the test split, or if x is a step of the log")
    logarithmic: bool = Field(False, description="Whether x is")
