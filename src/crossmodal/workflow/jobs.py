"""Jobs of the workflow: the files of each, and all that it depends on."""

from functools import partialmethod

from crossmodal.config.claims import read_claims
from crossmodal.config.deviations import sections_of
from crossmodal.config.experiment import Experiment
from crossmodal.workflow.fit_jobs import FitJobs, Wildcards, job_spec
from crossmodal.workflow.report_specs import (
    Claimed,
    ClaimsSpec,
    ExamplesSpec,
    FoldsSpec,
    SiteExperiment,
    SiteSpec,
    SiteTable,
    TabulateSpec,
)
from crossmodal.workflow.specs import EvaluateSpec, Spec

POSTERIORS, QRELS, FOLDS = "results/posteriors", "results/qrels", "results/folds"
RUNS = {"cross-modal": "results/runs", "intra-modal": "results/intra_modal"}  # by kind of retrieval
CURVES = ("learning", "precision_scope")


class Jobs(FitJobs):
    """All jobs of the workflow; here those that evaluate embeddings and show results."""

    def _scored(self, step: str, wildcards: Wildcards) -> str:
        """Return the specification of metrics: the fit whose embeddings they are of."""
        spec = EvaluateSpec(fit=self.fit_of(wildcards.experiment))
        return job_spec(step, spec, self._module(wildcards.experiment))

    evaluate = partialmethod(_scored, "evaluate")
    evaluate_intra_modal = partialmethod(_scored, "evaluate_intra_modal")
    evaluate_qrels = partialmethod(_scored, "evaluate_qrels")
    evaluate_posteriors = partialmethod(FitJobs._embedded, "evaluate_posteriors")

    def evaluate_folds(self, wildcards: Wildcards) -> str:
        """Return the specification of metrics by folds: the fit, and their number."""
        spec = FoldsSpec(fit=self.fit_of(wildcards.experiment), folds=int(wildcards.folds))
        return job_spec("evaluate_folds", spec, self._module(wildcards.experiment))

    def qrels(self, wildcards: Wildcards) -> str:
        """Return the qrels of a table: the user's own file, or what the dataset has."""
        source = self.params.tables[wildcards.table].qrels[wildcards.qrels]
        if source.endswith(".csv"):
            return source
        return self._prepared(wildcards.experiment, f"qrels/{source}.csv")[0]

    def judged_items(self, wildcards: Wildcards) -> list[str]:
        """Return the files that state which items and captions an experiment's dataset has."""
        return self._prepared(wildcards.experiment, "items.csv", "captions.csv")

    def shown_files(self, wildcards: Wildcards) -> list[str]:
        """Return the texts and media of an experiment's dataset, for a page of examples."""
        files = ("items.csv", "captions.csv", "media.zip")
        return self._prepared(wildcards.experiment, *files)

    def shown_shards(self, wildcards: Wildcards) -> list[str]:
        """Return the folder of these media, if they are in shards."""
        return self._shards(self._experiment(wildcards.experiment).dataset)

    def shown_embeddings(self, wildcards: Wildcards) -> list[str]:
        """Return the embeddings for a page of examples, of one experiment or of two."""
        return [f"embeddings/{name}/seed0.h5" for name in self._beside(wildcards.experiment)]

    def show_examples(self, wildcards: Wildcards) -> str:
        """Return the specification of a page of examples."""
        name = wildcards.experiment
        experiment = self._experiment(name)
        spec = ExamplesSpec(
            labels=[self._experiment(beside).row() for beside in self._beside(name)],
            dataset=experiment.dataset,
            relevance=experiment.relevance,
            fit=self.fit_of(name),
        )
        return job_spec("show_examples", spec, self._module(name))

    def runs(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of all seeds of an experiment."""
        return self.runs_of([wildcards.experiment])

    def training_logs(self, wildcards: Wildcards) -> list[str]:
        """Return the learning curves of all seeds of an experiment."""
        return self._seeds("models/{}/seed{}/curve.csv", [wildcards.experiment])

    def average_curves(self, wildcards: Wildcards) -> str:
        """Return the specification of averaging: the fits alone."""
        return job_spec("average_curves", EvaluateSpec(fit=self.fit_of(wildcards.experiment)))

    def table_runs(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of all runs that a table shows."""
        table = self.params.tables[wildcards.table]
        folder = f"{FOLDS}/{table.folds}" if table.folds else RUNS[table.retrieval]
        runs = self.runs_of(table.experiments, folder)
        if "posteriors" in table.readout:
            runs += self.runs_of(table.experiments, POSTERIORS)
        for name in table.qrels:
            runs += self.runs_of(table.experiments, f"{QRELS}/{wildcards.table}/{name}")
        return runs

    def table_queries(self, wildcards: Wildcards) -> list[str]:
        """Return the values per query beside the metrics of all runs that a table shows."""
        return _queries_of(self.table_runs(wildcards))

    def table_figures(self, wildcards: Wildcards) -> list[str]:
        """Return the figures below a table."""
        names = self.params.tables[wildcards.table].drawn(wildcards.table)
        return [f"results/figures/{name}.svg" for name in names]

    def tabulate(self, wildcards: Wildcards) -> str:
        """Return the specification of a table, with the settings of its experiments."""
        table = self.params.tables[wildcards.table]
        datasets = sorted({self._experiment(name).dataset for name in table.experiments})
        departures = {name: self.params.dataset_of(name).departure() for name in datasets}
        spec = TabulateSpec(
            table=table,
            experiments=self.described(table.experiments),
            deterministic=[e for e in table.experiments if self.params.is_deterministic(e)],
            figures={name: self.params.figures[name].title for name in table.figures},
            departures=[f"`{name}` {text}." for name, text in departures.items() if text],
        )
        return job_spec("tabulate", spec)

    def merge(self, wildcards: Wildcards) -> str:
        """Return the specification of merging, which depends on nothing but its inputs."""
        return job_spec("merge", Spec())

    def claim_runs(self, wildcards: Wildcards) -> list[str]:
        """Return the metrics of the suite's experiments that claims of the papers compare."""
        return self.runs_of(self._claimed())

    def claim_queries(self, wildcards: Wildcards) -> list[str]:
        """Return the values per query beside those metrics."""
        return _queries_of(self.claim_runs(wildcards))

    def claims(self, wildcards: Wildcards) -> str:
        """Return the experiments that the scorecard compares."""
        return job_spec("claims", ClaimsSpec(experiments=self.claimed(self._claimed())))

    def claimed(self, names: list[str]) -> dict[str, Claimed]:
        """Return what the scorecard says of experiments, by name."""
        return {
            name: Claimed(
                label=spec.row(),
                dataset=spec.dataset,
                deterministic=self.params.is_deterministic(name),
            )
            for name, spec in self.described(names).items()
        }

    def _claimed(self) -> list[str]:
        named = {name for claim in read_claims() for pair in claim.measured for name in pair}
        return [name for name in self.shown() if name in named]

    def site_inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the claims, numbers, metrics, curves and examples on the site of the suite."""
        names = self.shown()
        return [
            "results/tables/claims.csv",
            "results/figures/claims.svg",
            *(f"results/tables/{table}.csv" for table in self.suite),
            *self.runs_of(names),
            *(f"results/curves/{kind}/{name}.csv" for kind in CURVES for name in names),
            *(f"results/examples/{name}.html" for name in names),
        ]

    def site(self, wildcards: Wildcards) -> str:
        """Return the specification of the site."""
        spec = SiteSpec(
            suite=self.params.suite,
            tables={name: self._table_on_site(name) for name in self.suite},
            experiments={name: self._on_site(name) for name in self.shown()},
        )
        return job_spec("site", spec)

    def shown(self) -> list[str]:
        """Return the experiments in the tables of the suite."""
        names = (name for table in self.suite for name in self.params.tables[table].experiments)
        return list(dict.fromkeys(names))

    def runs_of(self, experiments: list[str], folder: str = RUNS["cross-modal"]) -> list[str]:
        """Return metrics of all seeds of experiments."""
        return self._seeds(folder + "/{}/seed{}.json", experiments)

    def described(self, names: list[str]) -> dict[str, Experiment]:
        """Return experiments by name."""
        return {name: self._experiment(name) for name in names}

    def _table_on_site(self, name: str) -> SiteTable:
        table = self.params.tables[name]
        return SiteTable(title=table.title, note=table.note, papers=self.params.papers_of(name))

    def _on_site(self, name: str) -> SiteExperiment:
        spec = self._experiment(name)
        method, dataset, features = self.params.plugins_of(name)
        return SiteExperiment(
            label=spec.row(),
            seeds=[*self.params.seeds_of(name)],
            dataset=spec.dataset,
            method=method,
            views=dict(spec.views.items()),
            sections=sections_of(dataset, features, method),
        )

    def _beside(self, name: str) -> list[str]:
        """Return an experiment, and the one beside it if there is one."""
        return [name, *filter(None, [self._experiment(name).beside])]

    def _module(self, name: str) -> str:
        """Return the module of an experiment's method, below `crossmodal`."""
        return f"methods.{self.params.fit(name).plugin}"


def _queries_of(runs: list[str]) -> list[str]:
    """Return the values per query beside metrics."""
    return [run.removesuffix(".json") + ".npz" for run in runs]
