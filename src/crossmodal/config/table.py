"""Tables, suites of them, and figures in params.yaml."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from crossmodal.config.published_numbers import Published
from crossmodal.plugin import Strict

Metric = Literal[
    "mAP",
    "mAP@50",
    "mAP@100",
    "mAP@R",
    "R-precision",
    "nDCG@10",
    "MRR",
    "R@1",
    "R@5",
    "R@10",
    "MedR",
    "MeanR",
    "rsum",
    "successful starts of 5",
    "positives",
    "negatives",
    "steps on plateau",
    "left plateau (%)",
    "validation rsum",
    "training time (s)",
    "peak memory (MB)",
]
INTRA_MODAL: tuple[Metric, ...] = ("mAP", "mAP@50")
JUDGED: tuple[Metric, ...] = ("mAP@R", "R-precision", "nDCG@10", "MRR")  # by qrels alone
OWN, POSTERIORS = "own", "posteriors"
BOTH_WAYS: tuple[Metric, ...] = (  # metrics that no direction has
    "rsum",
    "successful starts of 5",
    "positives",
    "negatives",
    "steps on plateau",
    "left plateau (%)",
    "validation rsum",
    "peak memory (MB)",
)
Retrieval = Literal["cross-modal", "intra-modal"]
Readout = Literal["own", "posteriors"]
Logged = Literal["validation", "loss", "seconds", "alpha", "gap"]
QRELS = re.compile(r"[\w-]+")
TRAINING = ("step", "epoch")  # columns of the learning curve that a figure may have as x


def column(metric: str, by: str) -> str:
    """Return the name of a column: a metric by a readout, or by qrels."""
    if by == OWN:
        return metric
    return f"{metric}, {'class posteriors' if by == POSTERIORS else by}"


def metric_of(column: str) -> str:
    """Return the metric of a column."""
    return column.partition(", ")[0]


def _listed(text: object) -> object:
    """Return the names in a text, as DVC writes each list with an item per line."""
    return re.split(r",\s+", text) if isinstance(text, str) else text


def _labelled(methods: object) -> object:
    """Return methods by label, which is their name where there is just a list of them."""
    names = _listed(methods)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return names  # the schema reports what is wrong
    return dict(zip(names, names, strict=True))


_Listed, _Labelled = BeforeValidator(_listed), BeforeValidator(_labelled)
Names = Annotated[list[str], _Listed]
Metrics = Annotated[list[Metric], _Listed, Field(min_length=1)]


class Map(Strict):
    """A map in the plane of the embeddings of an experiment's test items."""

    experiment: str
    labels: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Show the items with either or both; null: all items with just one label."
    )


class Cited(Strict):
    """Rows of one published table: columns of published/retrieval.csv."""

    paper: str
    table: str
    dataset: str
    variant: str = ""
    methods: Annotated[dict[str, str], _Labelled, Field(min_length=1)] = Field(
        description="Label -> method; a list of methods if they are labels too."
    )

    def rows(self) -> dict[str, Published]:
        """Return the published row of each label."""
        columns = self.model_dump(exclude={"methods"})
        return {
            label: Published(method=method, **columns) for label, method in self.methods.items()
        }


class Table(Strict):
    """One file in results/tables/."""

    title: str
    note: str = ""
    papers: Names = Field(
        [], description="Papers whose question it asks; by default those of its published rows."
    )
    experiments: Annotated[Names, Field(min_length=1)]
    metrics: Metrics
    retrieval: Retrieval = "cross-modal"
    readout: Annotated[list[Readout], _Listed, Field(min_length=1)] = Field(
        ["own"],
        description="How methods rank: 'own' by their own score, 'posteriors' all by the class "
        "posteriors of their embeddings, see `learning.posteriors`; with both, in two columns.",
    )
    relevance: Annotated[list[str], _Listed, Field(min_length=1)] = Field(
        ["own"],
        description="What is relevant: 'own' as the experiments say, the path of a CSV of query, "
        "document and grade, or the name of qrels that the dataset has; with several, in columns.",
    )
    folds: int | None = Field(
        None,
        ge=2,
        description="Number of parts of the test items, equally many consecutive ones in the "
        "dataset's order; each is ranked for itself, and metrics are the means. null: one gallery.",
    )
    ranked: bool = Field(
        False, description="Whether rows are in order of the first metric, the best first."
    )
    figures: Names = Field([], description="Keys of `figures`, shown below the table.")
    map: Map | None = Field(None, description="Map of the shared space, drawn below the table.")
    similarity: Names = Field([], description="Experiments whose matrix of scores is drawn.")
    margins: Names = Field([], description="Experiments whose margins by epoch are drawn.")
    cited: Cited | None = Field(None, description="Published rows that nothing here reproduces.")
    external: str | None = Field(
        None,
        description="A dataset of published/external.csv, whose systems of today stand below all "
        "rows, as others measured them.",
    )

    def drawn(self, name: str, named: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the figures below the table: files in results/figures/, and captions.

        Args:
            name: Key of the table.
            named: Names of figures and experiments, by key.
        """
        of = {key: named.get(key, key) for key in (*self.figures, *self.margins, *self.similarity)}
        return {
            f"{name}/learning": f"Learning curves: {self.title}",
            f"{name}/precision_scope": f"Precision-scope curves: {self.title}",
            **{figure: of[figure] for figure in self.figures},
            **({f"{name}/map": f"Map of the shared space: {self.title}"} if self.map else {}),
            **{f"margins/{e}": f"Margins by epoch: {of[e]}" for e in self.margins},
            **{f"similarity/{e}": f"Scores of test items: {of[e]}" for e in self.similarity},
        }

    @property
    def qrels(self) -> dict[str, str]:
        """Return the qrels by the name that columns have; a file, or a name that datasets have."""
        return {Path(source).stem: source for source in self.relevance if source != OWN}

    @property
    def columns(self) -> list[str]:
        """Each metric by each readout, then by the qrels."""
        readouts = self.readout if OWN in self.relevance else []
        return [column(metric, by) for by in [*readouts, *self.qrels] for metric in self.metrics]

    @model_validator(mode="after")
    def _check_relevance(self) -> "Table":
        names = [Path(source).stem for source in self.relevance]
        for name, source in zip(names, self.relevance, strict=True):
            if names.count(name) > 1 or (name in (OWN, POSTERIORS) and source != OWN):
                raise ValueError(f"relevance: {source!r} would share its columns; rename it")
            if not QRELS.fullmatch(name):
                raise ValueError(f"relevance: {source!r}: use letters, digits, `_` and `-` alone")
        if not self.qrels and {*JUDGED} & {*self.metrics}:
            lacking = next(metric for metric in self.metrics if metric in JUDGED)
            raise ValueError(f"metrics: {lacking} is of qrels; name some in `relevance`")
        return self

    @model_validator(mode="after")
    def _check_folds(self) -> "Table":
        if self.folds and (self.relevance != [OWN] or self.readout != [OWN]):
            raise ValueError("readout, relevance: in folds there is own alone")
        if self.folds and self.retrieval != "cross-modal":
            raise ValueError("folds: of cross-modal retrieval alone")
        return self

    @model_validator(mode="after")
    def _check_intra_modal(self) -> "Table":
        if self.retrieval == "cross-modal":
            return self
        if self.readout != ["own"] or self.qrels:
            raise ValueError("readout, relevance: of intra-modal retrieval there is own alone")
        for metric in self.metrics:
            if metric not in INTRA_MODAL:
                allowed = ", ".join(INTRA_MODAL)
                raise ValueError(f"metrics: intra-modal retrieval has no {metric}, but {allowed}")
        return self


class Figure(Strict):
    """One file in results/figures/: a line through the experiments of a grid, or of a training."""

    title: str
    experiments: Annotated[Names, Field(min_length=1)]
    x: str = Field(
        description="An option whose values are numbers, one of the experiments' `facts`, or "
        "'step' (of the optimiser, or a triplet) or 'epoch' of the training."
    )
    y: Metric | Logged = Field(
        description="Metric of the test split or, where x is of the training, column of the "
        "learning curve."
    )
    direction: str | None = Field(
        None,
        description="Direction of y, such as 'image-to-text'; null: the mean, of times the sum.",
    )
    logarithmic: bool = Field(False, description="Whether x has a logarithmic scale.")

    @model_validator(mode="after")
    def _check_direction(self) -> "Figure":
        if self.direction and self.y in BOTH_WAYS:
            raise ValueError(f"direction: {self.y} is of both directions together; leave it out")
        return self
