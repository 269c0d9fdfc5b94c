"""What the rules ask of params.yaml: each job's files, and what it depends on."""

from typing import Any

from crossmodal.config.claims import read_claims
from crossmodal.config.published_numbers import papers
from crossmodal.config.table import TRAINING
from crossmodal.workflow.fit_jobs import FitJobs, Wildcards, job_spec

POSTERIORS = "results/posteriors"
RUNS = {"cross-modal": "results/runs", "intra-modal": "results/intra_modal"}  # by kind of retrieval
CURVES = ("learning", "precision_scope")


class Jobs(FitJobs):
    """All jobs of the workflow; here those that evaluate embeddings and show results."""

    def evaluate(self, wildcards: Wildcards) -> str:
        """Metrics depend on the fit whose embeddings they are of."""
        return self._scored("evaluate", wildcards)

    def evaluate_posteriors(self, wildcards: Wildcards) -> str:
        """As embedding, which it begins with."""
        return self._embedded("evaluate_posteriors", wildcards)

    def evaluate_intra_modal(self, wildcards: Wildcards) -> str:
        """Metrics depend on the fit whose embeddings they are of."""
        return self._scored("evaluate_intra_modal", wildcards)

    def shown_files(self, wildcards: Wildcards) -> list[str]:
        """What a page of examples shows: texts and media of an experiment's dataset."""
        files = ("items.csv", "captions.csv", "media.zip")
        return self._prepared(wildcards.experiment, *files)

    def shown_embeddings(self, wildcards: Wildcards) -> list[str]:
        """What a page of examples is drawn from: an experiment, and perhaps one beside it."""
        return [f"embeddings/{name}/seed0.h5" for name in self._beside(wildcards.experiment)]

    def show_examples(self, wildcards: Wildcards) -> str:
        """A page of examples says of which experiments and dataset, and what is relevant."""
        spec = self._experiment(wildcards.experiment)
        labels = [self._experiment(name).row() for name in self._beside(wildcards.experiment)]
        told = {"labels": labels, "dataset": spec.dataset, "relevance": spec.relevance}
        return self._scored("show_examples", wildcards, **told)

    def runs(self, wildcards: Wildcards) -> list[str]:
        """Metrics of all seeds of an experiment."""
        return self._runs([wildcards.experiment])

    def training_logs(self, wildcards: Wildcards) -> list[str]:
        """Learning curves of all seeds of an experiment."""
        return self._seeds("models/{}/seed{}/curve.csv", [wildcards.experiment])

    def average_curves(self, wildcards: Wildcards) -> str:
        """Averaging depends on the fits alone."""
        return job_spec("average_curves", self.fit(wildcards))

    def table_curves(self, wildcards: Wildcards) -> list[str]:
        """Curves of all experiments that a table shows, and the labels of their datasets."""
        shown = self.params.tables[wildcards.table].experiments
        curves = (f"results/curves/{kind}/{name}.csv" for kind in CURVES for name in shown)
        items = (path for name in shown for path in self._prepared(name, "items.csv"))
        return [*curves, *dict.fromkeys(items)]

    def draw_curves(self, wildcards: Wildcards) -> str:
        """The curves of a table have its title, the names of its rows, and what is relevant."""
        table = self.params.tables[wildcards.table]
        shown = [self._told(name) for name in table.experiments]
        return job_spec("draw_curves", {"title": table.title, "experiments": shown})

    def figure_inputs(self, wildcards: Wildcards) -> list[str]:
        """What a figure is drawn from: learning curves, or metrics of all runs."""
        figure = self.params.figures[wildcards.figure]
        if figure.x in TRAINING:
            return [f"results/curves/learning/{name}.csv" for name in figure.experiments]
        return self._runs(figure.experiments)

    def draw_figure(self, wildcards: Wildcards) -> str:
        """A figure depends on all that params.yaml says of it and of what it shows."""
        figure = self.params.figures[wildcards.figure]
        return self._shown("draw_figure", figure.experiments, figure=figure.model_dump())

    def map_inputs(self, wildcards: Wildcards) -> list[str]:
        """Embeddings and labels that a table's map shows."""
        name = self.params.tables[wildcards.table].map.experiment
        return [f"embeddings/{name}/seed0.h5", *self._prepared(name, "items.csv")]

    def draw_map(self, wildcards: Wildcards) -> str:
        """A map has a title, and two of the labels."""
        shown = self.params.tables[wildcards.table].map
        spec = self._experiment(shown.experiment)
        options = {
            "title": self._title(shown.experiment),
            "labels": shown.labels,
            "relevance": spec.relevance,
            "classes": spec.changes.classes if spec.changes else [],
        }
        return job_spec("draw_map", options)

    def draw_margins(self, wildcards: Wildcards) -> str:
        """A figure of margins has a title."""
        return job_spec("draw_margins", {"title": self._title(wildcards.experiment, "training")})

    def draw_similarity(self, wildcards: Wildcards) -> str:
        """A matrix of scores has a title."""
        return self._scored("draw_similarity", wildcards, title=self._title(wildcards.experiment))

    def table_runs(self, wildcards: Wildcards) -> list[str]:
        """Metrics of all runs that a table shows."""
        table = self.params.tables[wildcards.table]
        further = self._runs(table.experiments, POSTERIORS) if "posteriors" in table.readout else []
        return self._runs(table.experiments, RUNS[table.retrieval]) + further

    def table_queries(self, wildcards: Wildcards) -> list[str]:
        """Return the values per query beside the metrics of all runs that a table shows."""
        return [run.removesuffix(".json") + ".npz" for run in self.table_runs(wildcards)]

    def table_figures(self, wildcards: Wildcards) -> list[str]:
        """Figures below a table."""
        names = self.params.tables[wildcards.table].drawn(wildcards.table)
        return [f"results/figures/{name}.svg" for name in names]

    def tabulate(self, wildcards: Wildcards) -> str:
        """A table depends on all that params.yaml says of it and of what it shows."""
        table = self.params.tables[wildcards.table]
        deterministic = [e for e in table.experiments if self.params.is_deterministic(e)]
        shown = sorted({self._experiment(name).dataset for name in table.experiments})
        departures = {name: self.params.dataset_of(name).departure() for name in shown}
        return self._shown(
            "tabulate",
            table.experiments,
            table=table.model_dump(),
            deterministic=deterministic,
            figures={name: self.params.figures[name].title for name in table.figures},
            departures=[f"`{name}` {text}." for name, text in departures.items() if text],
        )

    def merge(self, wildcards: Wildcards) -> str:
        """Merging depends on nothing but its inputs."""
        return job_spec("merge", {})

    def claim_runs(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of the suite's experiments that claims of the papers compare."""
        return self._runs(self._claimed())

    def claim_queries(self, wildcards: Wildcards) -> list[str]:
        """Return the values per query beside those metrics."""
        return [run.removesuffix(".json") + ".npz" for run in self.claim_runs(wildcards)]

    def claims(self, wildcards: Wildcards) -> str:
        """Return what the scorecard says of experiments."""
        facts = {}
        for name in self._claimed():
            spec, fixed = self._experiment(name), self.params.is_deterministic(name)
            facts[name] = {"label": spec.row(), "dataset": spec.dataset, "deterministic": fixed}
        return job_spec("claims", {"experiments": facts})

    def _claimed(self) -> list[str]:
        named = {name for claim in read_claims() for pair in claim.measured for name in pair}
        return [name for name in self.shown() if name in named]

    def site_inputs(self, wildcards: Wildcards) -> list[str]:
        """What the site of the suite shows: numbers, metrics, curves and examples."""
        names = self.shown()
        return [
            *(f"results/tables/{table}.csv" for table in self.suite),
            *self._runs(names),
            *(f"results/curves/{kind}/{name}.csv" for kind in CURVES for name in names),
            *(f"results/examples/{name}.html" for name in names),
        ]

    def site(self, wildcards: Wildcards) -> str:
        """The site depends on all that it says of tables and experiments."""
        shown = {}
        for name in self.shown():
            job, spec = self.params.fit_job(name), self._experiment(name)
            facts = {"dataset": spec.dataset, "method": job["plugin"], "views": spec.views}
            shown[name] = {"label": spec.row(), "seeds": [*self.params.seeds_of(name)], **facts}
        tables = {name: self.params.tables[name] for name in self.suite}
        said = {n: {"title": table.title, "note": table.note} for n, table in tables.items()}
        return job_spec(
            "site",
            {
                "suite": self.params.suite,
                "suites": self.params.suites,
                "papers": papers(),
                "tables": said,
                "experiments": shown,
            },
        )

    def shown(self) -> list[str]:
        """Experiments in the tables of the suite."""
        names = (name for table in self.suite for name in self.params.tables[table].experiments)
        return list(dict.fromkeys(names))

    def _beside(self, name: str) -> list[str]:
        """An experiment, and the one whose results are shown beside its own, if there is one."""
        return [name, *filter(None, [self._experiment(name).beside])]

    def _told(self, name: str) -> dict[str, str]:
        """What the curves of a table say of an experiment."""
        spec, task = self._experiment(name), self.params.task_of(name)
        facts = {"dataset": spec.dataset, "relevance": spec.relevance, "task": task}
        return {"name": name, "label": spec.row(), **facts}

    def _title(self, experiment: str, split: str = "test") -> str:
        """Title of a figure of one experiment."""
        spec = self._experiment(experiment)
        return f"{spec.row()} ({spec.dataset}; {split} split)"

    def _runs(self, experiments: list[str], folder: str = RUNS["cross-modal"]) -> list[str]:
        return self._seeds(folder + "/{}/seed{}.json", experiments)

    def _scored(self, step: str, wildcards: Wildcards, **shown: str) -> str:
        plugin = self.params.fit_job(wildcards.experiment)["plugin"]
        return job_spec(step, {"plugin": plugin, **self.fit(wildcards), **shown}, "methods")

    def _shown(self, step: str, experiments: list[str], **shown: Any) -> str:
        specs = {name: self._experiment(name).model_dump(exclude={"gpus"}) for name in experiments}
        return job_spec(step, {**shown, "experiments": specs})
