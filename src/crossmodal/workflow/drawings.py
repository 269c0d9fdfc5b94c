"""Figures: what each shows, and the files that it is drawn from."""

from typing import Literal, NamedTuple, cast

from crossmodal.config.table import TRAINING
from crossmodal.errors import CrossmodalError
from crossmodal.workflow.fit_jobs import Wildcards, job_spec
from crossmodal.workflow.jobs import CURVES, Jobs
from crossmodal.workflow.report_specs import (
    Curve,
    Curves,
    Drawing,
    DrawSpec,
    Map,
    Margins,
    Similarity,
    Sweep,
)


class Drawn(NamedTuple):
    """A figure.

    Attributes:
        kind: Its heading in the report.
        drawing: What is drawn.
        inputs: The files that it is drawn from.
        experiment: The one whose embeddings are among them, if there are any.
    """

    kind: str
    drawing: Drawing
    inputs: list[str]
    experiment: str = ""


class Drawings:
    """Files in results/figures/, called as `Table.drawn` says.

    Args:
        jobs: The jobs whose results are drawn.
    """

    def __init__(self, jobs: Jobs) -> None:
        self.jobs, self.params = jobs, jobs.params

    def pattern(self) -> str:
        """Return the regular expression of all names."""
        figures = "|".join(self.params.figures) or "none"
        tables, experiments = "|".join(self.params.tables), "|".join(self.params.experiments)
        of_tables = f"(?:{tables})/(?:{'|'.join(CURVES)}|map)"
        return f"{figures}|{of_tables}|(?:margins|similarity)/(?:{experiments})"

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that a figure is drawn from."""
        return self._of(wildcards.drawing).inputs

    def kind(self, wildcards: Wildcards) -> str:
        """Return the heading of a figure in the report."""
        return self._of(wildcards.drawing).kind

    def draw(self, wildcards: Wildcards) -> str:
        """Return the specification of a figure."""
        drawn = self._of(wildcards.drawing)
        if not drawn.experiment:
            return job_spec("draw", DrawSpec(drawing=drawn.drawing))
        plugin = self.params.fit(drawn.experiment).plugin
        spec = DrawSpec(drawing=drawn.drawing, fit=self.jobs.fit_of(drawn.experiment))
        return job_spec("draw", spec, f"methods.{plugin}")

    def _of(self, name: str) -> Drawn:
        folder, _, last = name.rpartition("/")
        if not folder:
            return self._sweep(last)
        if folder == "margins":
            title = self._title(last, "training")
            return Drawn("Margins", Margins(title=title), [f"models/{last}/seed0/curve.csv"])
        if folder == "similarity":
            drawing, embeddings = Similarity(title=self._title(last)), self._embeddings(last)
            return Drawn("Similarity of test items", drawing, [embeddings], last)
        return self._map(folder) if last == "map" else self._curves(folder, last)

    def _sweep(self, name: str) -> Drawn:
        """Return a figure of params.yaml, from learning curves or from metrics of all runs."""
        figure = self.params.figures[name]
        inputs = [f"results/curves/learning/{name}.csv" for name in figure.experiments]
        if figure.x not in TRAINING:
            inputs = self.jobs.runs_of(figure.experiments)
        drawing = Sweep(
            figure=figure,
            experiments=self.jobs.described(figure.experiments),
            methods={name: self._place(name) for name in figure.experiments},
        )
        return Drawn("Options and training", drawing, inputs)

    def _map(self, table: str) -> Drawn:
        """Return the map of a table's experiment, from its embeddings and labels."""
        entry = self.params.tables[table].map
        if not entry:
            raise CrossmodalError(f"params.yaml: tables.{table}: has no `map`")
        spec = self.params.experiments[entry.experiment]
        drawing = Map(
            title=self._title(entry.experiment),
            labels=entry.labels,
            relevance=spec.relevance,
            classes=spec.changes.classes if spec.changes else [],
        )
        inputs = [self._embeddings(entry.experiment), f"data/prepared/{spec.dataset}/items.csv"]
        return Drawn("Maps", drawing, inputs, entry.experiment)

    def _curves(self, name: str, curve: str) -> Drawn:
        """Return curves of all experiments of a table, with the labels of their datasets."""
        table = self.params.tables[name]
        curves = [self._curve(experiment) for experiment in table.experiments]
        items = dict.fromkeys(f"data/prepared/{one.dataset}/items.csv" for one in curves)
        inputs = [f"results/curves/{curve}/{one.name}.csv" for one in curves]
        which = cast(Literal["learning", "precision_scope"], curve)
        drawing = Curves(curve=which, title=table.title, experiments=curves)
        kind = f"{curve.replace('_', '-').capitalize()} curves"
        return Drawn(kind, drawing, [*inputs, *items])

    def _curve(self, name: str) -> Curve:
        spec, task = self.params.experiments[name], self.params.facts_of(name).task
        return Curve(
            name=name,
            label=spec.row(),
            dataset=spec.dataset,
            relevance=spec.relevance,
            task=task,
            method=self._place(name),
        )

    def _place(self, experiment: str) -> int:
        """Return the place of an experiment's method, which tells how its lines look."""
        return [*self.params.methods].index(self.params.experiments[experiment].method)

    def _embeddings(self, experiment: str) -> str:
        return f"embeddings/{experiment}/seed0.h5"

    def _title(self, experiment: str, split: str = "test") -> str:
        """Return the title of a figure of one experiment."""
        spec = self.params.experiments[experiment]
        return f"{spec.row()} ({spec.dataset}; {split} split)"
