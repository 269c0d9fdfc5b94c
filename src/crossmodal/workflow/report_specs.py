"""Specifications of jobs that show results: pages of examples, tables, figures and the site."""

from typing import Annotated, Literal

from pydantic import Field, PlainSerializer

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import Figure, Table
from crossmodal.data.split import Relevance
from crossmodal.plugin import Strict
from crossmodal.workflow.specs import EvaluateSpec, Spec


def _shown(experiments: dict[str, Experiment]) -> dict[str, object]:
    return {name: spec.model_dump(exclude={"gpus"}) for name, spec in experiments.items()}


# the number of processes that train a fit changes no result
Experiments = Annotated[dict[str, Experiment], PlainSerializer(_shown)]


class ExamplesSpec(EvaluateSpec):
    """A page of examples.

    Attributes:
        labels: Names of the experiment and of those that it is compared with.
        dataset: Their dataset.
        relevance: What is relevant.
    """

    labels: list[str]
    dataset: str
    relevance: Relevance


class FoldsSpec(EvaluateSpec):
    """Metrics of a fit by parts of the test items.

    Attributes:
        folds: Number of the parts.
    """

    folds: int


class Curve(Strict):
    """An experiment in the curves of a table.

    Attributes:
        name: Of the experiment.
        label: In the legend.
        dataset: Its dataset.
        relevance: What is relevant.
        task: Of its method, 'category' or 'instance'.
        method: Place of its method in `methods` of params.yaml.
    """

    name: str
    label: str
    dataset: str
    relevance: Relevance
    task: str
    method: int


class Curves(Strict):
    """Curves of a table's experiments.

    Attributes:
        title: Of the table.
        curve: 'learning', a panel for each score, or 'precision_scope', one for each direction.
    """

    kind: Literal["curves"] = "curves"
    curve: Literal["learning", "precision_scope"]
    title: str
    experiments: list[Curve]


class Sweep(Strict):
    """An entry of `figures`.

    Attributes:
        figure: The entry.
        experiments: The experiments that it shows.
        methods: Place of the method of each in `methods` of params.yaml.
    """

    kind: Literal["sweep"] = "sweep"
    figure: Figure
    experiments: Experiments
    methods: dict[str, int]


class Map(Strict):
    """A map of the shared space.

    Attributes:
        title: Of the figure.
        labels: Two labels, whose items are shown; None: all items that have just one.
        relevance: What is relevant.
        classes: Categories that the run kept; empty for all.
    """

    kind: Literal["map"] = "map"
    title: str
    labels: list[str] | None
    relevance: Relevance
    classes: list[str]


class Margins(Strict):
    """Margins of a training, with a title."""

    kind: Literal["margins"] = "margins"
    title: str


class Similarity(Strict):
    """Matrix of a run's scores, with a title."""

    kind: Literal["similarity"] = "similarity"
    title: str


Drawing = Curves | Sweep | Map | Margins | Similarity


class DrawSpec(EvaluateSpec):
    """A figure; `fit` is that of the run whose files it shows alone."""

    drawing: Drawing = Field(discriminator="kind")


class TabulateSpec(Spec):
    """A table of params.yaml and the experiments that it shows.

    Attributes:
        table: The table.
        experiments: Its experiments by name.
        deterministic: Names of those whose seeds give the same model.
        departures: Sentences on datasets that depart from the papers'.
        figures: Titles of the figures below the table by name.
        failed: Experiments whose row stays empty, with the reason.
        earlier: Experiments that were fitted by code that has changed since.
    """

    table: Table
    experiments: Experiments
    deterministic: list[str]
    departures: list[str]
    figures: dict[str, str]
    failed: dict[str, str] = Field(default={})
    earlier: list[str] = Field(default=[])


class Claimed(Strict):
    """An experiment that a claim compares.

    Attributes:
        label: Its row.
        dataset: Its dataset.
        deterministic: Whether the seed makes no difference.
        earlier: Whether it was fitted by code that has changed since.
    """

    label: str
    dataset: str
    deterministic: bool
    earlier: bool = False


class ClaimsSpec(Spec):
    """The scorecard of the papers' claims: the experiments that they compare, by name."""

    experiments: dict[str, Claimed]


class SiteTable(Strict):
    """A table on the site, and the papers that it belongs to."""

    title: str
    note: str
    papers: list[str]


class SiteExperiment(Strict):
    """An experiment on the site, and the sections of docs/deviations.md that are about it."""

    label: str
    seeds: list[int]
    dataset: str
    method: str
    views: dict[str, str]
    sections: list[str]


class SiteSpec(Spec):
    """The site of a suite.

    Attributes:
        suite: Its name.
        tables: The suite's tables.
        experiments: Their experiments.
    """

    suite: str
    tables: dict[str, SiteTable]
    experiments: dict[str, SiteExperiment]
