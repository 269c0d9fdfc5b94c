"""What the rules ask of params.yaml: each job's files, resources, and what it depends on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from crossmodal.config.experiment import Experiment
from crossmodal.config.params import Params
from crossmodal.config.published_numbers import papers
from crossmodal.config.table import TRAINING
from crossmodal.data.prepared import FILES, is_prepared
from crossmodal.errors import ENCODERS, CrossmodalError
from crossmodal.io.files import digest
from crossmodal.workflow.code_hash import code

POSTERIORS = "results/posteriors"
RUNS = {"cross-modal": "results/runs", "intra-modal": "results/intra_modal"}  # by kind of retrieval
CURVES = ("learning", "precision_scope")


class Wildcards(Protocol):
    """Values of a rule's wildcards, as Snakemake hands them to functions; a job has some of these.

    Attributes:
        dataset: Key of `datasets` in params.yaml.
        feature: Key of `features`.
        experiment: Key of `experiments`.
        seed: Of a run.
        table: Key of `tables`.
        figure: Key of `figures`.
    """

    dataset: str
    feature: str
    experiment: str
    seed: str
    table: str
    figure: str


class Jobs:
    """The jobs of the workflow. A method with a rule's name gives what a job of it depends on, as
    JSON: its options, and `code`, the hash of all code that it runs.

    Args:
        params: The checked params.yaml.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        self.suite = params.suites[params.suite]

    def experiments(self) -> list[str]:
        """All experiments that the suite shows."""
        shown = (e for table in self.suite for e in self.params.shown_in(table))
        return list(dict.fromkeys(shown))

    def datasets(self) -> list[str]:
        """Datasets of the suite."""
        return sorted({self._experiment(name).dataset for name in self.experiments()})

    # acquire and prepare

    def raw_folder(self, wildcards: Wildcards) -> str:
        """Folder of a dataset's published files; datasets of one plug-in share it."""
        return self._raw_folder(wildcards.dataset)

    def raw_files(self, wildcards: Wildcards) -> list[str]:
        """Published files of a dataset."""
        return self._raw_files(wildcards.dataset)

    def all_raw_files(self, wildcards: Wildcards) -> list[str]:
        """Published files of the suite; of a dataset that is prepared, those that are there."""
        return [
            path
            for dataset in self.datasets()
            for path in self._raw_files(dataset)
            if not is_prepared(dataset) or Path(path).exists()
        ]

    def all_prepared_files(self, wildcards: Wildcards) -> list[str]:
        """Prepared files of the suite."""
        return [f"data/prepared/{dataset}/{file}" for dataset in self.datasets() for file in FILES]

    def prepare(self, wildcards: Wildcards) -> str:
        """Preparing a dataset depends on its options, and on the user's own files."""
        entry = self.params.plugin("datasets", wildcards.dataset)
        # as inputs of the rule, many files of a user would fill records and logs
        files = _stamp(self.params.dataset_of(wildcards.dataset).files())
        return _spec("prepare", {**entry, "files": files}, "datasets")

    # extract

    def all_features(self, wildcards: Wildcards) -> list[str]:
        """Feature files of the suite."""
        return [path for name in self.experiments() for path in self._features(name)]

    def feature_inputs(self, wildcards: Wildcards) -> list[str]:
        """Files of the prepared dataset that a feature reads, and features it is computed from."""
        facts, dataset = self.params.feature_of(wildcards.feature), wildcards.dataset
        prepared = [f"data/prepared/{dataset}/{name}" for name in facts.reads]
        return prepared + [f"features/{dataset}/{name}.h5" for name in facts.of]

    def feature_weights(self, wildcards: Wildcards) -> list[str]:
        """Weights of the network that a feature needs.

        Raises:
            CrossmodalError: If the feature is not there, nor are packages that it needs.
        """
        name, path = wildcards.feature, f"features/{wildcards.dataset}/{wildcards.feature}.h5"
        if (lacking := self.params.lacking(name)) and not Path(path).exists():
            raise CrossmodalError(f"{path}: needs {' and '.join(lacking)}; {ENCODERS}")
        return _weights(self.params.feature_of(name).weights)

    def feature_threads(self, wildcards: Wildcards) -> int:
        """Threads that a feature's extraction makes use of."""
        return self.params.feature_of(wildcards.feature).threads

    def feature_gpu(self, wildcards: Wildcards) -> int:
        """GPUs that a feature's extraction makes use of."""
        return int(self.params.feature_of(wildcards.feature).gpu)

    def extract(self, wildcards: Wildcards) -> str:
        """Extraction depends on the feature's options."""
        entry = self.params.plugin("features", wildcards.feature)
        return _spec("extract", entry | self._gpu(self.feature_gpu(wildcards)), "features")

    # train

    def dataset(self, wildcards: Wildcards) -> str:
        """Dataset of an experiment."""
        return self._experiment(wildcards.experiment).dataset

    def labels_and_splits(self, wildcards: Wildcards) -> list[str]:
        """Files of an experiment's dataset that say what is relevant, and in which split."""
        return self._prepared(wildcards.experiment, "items.csv", "splits.csv")

    def features(self, wildcards: Wildcards) -> list[str]:
        """Feature files of an experiment's views."""
        return self._features(wildcards.experiment)

    def searched(self, wildcards: Wildcards) -> list[str]:
        """Facts of the fit whose search chose the options of this one."""
        if wildcards.seed == "0" or "searched_by" not in self.params.fit_job(wildcards.experiment):
            return []
        return [f"models/{wildcards.experiment}/seed0/model.json"]

    def weights(self, wildcards: Wildcards) -> list[str]:
        """Weights that an experiment's method begins with."""
        return _weights(self.params.weights_of(wildcards.experiment))

    def gpu(self, wildcards: Wildcards) -> int:
        """GPUs that an experiment's method makes use of."""
        return int(self.params.uses_gpu(wildcards.experiment))

    def train(self, wildcards: Wildcards) -> str:
        """A fit depends on the method's options, and on what it learns from."""
        job = self.params.fit_job(wildcards.experiment)
        return _spec("train", job | self._gpu(self.gpu(wildcards)), "methods")

    def embed(self, wildcards: Wildcards) -> str:
        """Embedding depends on what is embedded; the method's options come with the model."""
        return self._embedded("embed", wildcards)

    def all_embeddings(self, wildcards: Wildcards) -> list[str]:
        """Embeddings of the suite."""
        return self._seeds("embeddings/{}/seed{}.h5", self.experiments())

    # evaluate

    def evaluate(self, wildcards: Wildcards) -> str:
        """The method's options come with the embeddings."""
        return self._scored("evaluate", wildcards)

    def evaluate_posteriors(self, wildcards: Wildcards) -> str:
        """As embedding, which it begins with."""
        return self._embedded("evaluate_posteriors", wildcards)

    def evaluate_intra_modal(self, wildcards: Wildcards) -> str:
        """The method's options come with the embeddings."""
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
        """Averaging depends on nothing but its inputs."""
        return _spec("average_curves", {})

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
        return _spec("draw_curves", {"title": table.title, "experiments": shown})

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
        return _spec("draw_map", options)

    def draw_margins(self, wildcards: Wildcards) -> str:
        """A figure of margins has a title."""
        return _spec("draw_margins", {"title": self._title(wildcards.experiment, "training")})

    def draw_similarity(self, wildcards: Wildcards) -> str:
        """A matrix of scores has a title."""
        return self._scored("draw_similarity", wildcards, title=self._title(wildcards.experiment))

    def table_runs(self, wildcards: Wildcards) -> list[str]:
        """Metrics of all runs that a table shows."""
        table = self.params.tables[wildcards.table]
        further = self._runs(table.experiments, POSTERIORS) if "posteriors" in table.readout else []
        return self._runs(table.experiments, RUNS[table.retrieval]) + further

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
        return _spec("merge", {})

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
        return _spec(
            "publish_site",
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

    def _experiment(self, name: str) -> Experiment:
        return self.params.experiments[name]

    def _told(self, name: str) -> dict[str, str]:
        """What the curves of a table say of an experiment."""
        spec, task = self._experiment(name), self.params.task_of(name)
        facts = {"dataset": spec.dataset, "relevance": spec.relevance, "task": task}
        return {"name": name, "label": spec.row(), **facts}

    def _gpu(self, used: int) -> dict[str, bool]:
        """What a job that makes use of a GPU depends on besides."""
        return {"deterministic": self.params.deterministic} if used else {}

    def _title(self, experiment: str, split: str = "test") -> str:
        """Title of a figure of one experiment."""
        spec = self._experiment(experiment)
        return f"{spec.row()} ({spec.dataset}; {split} split)"

    def _raw_folder(self, dataset: str) -> str:
        return f"data/raw/{self.params.plugin('datasets', dataset)['plugin']}"

    def _raw_files(self, dataset: str) -> list[str]:
        sources = self.params.dataset_of(dataset).sources
        return [f"{self._raw_folder(dataset)}/{source.file}" for source in sources]

    def _prepared(self, experiment: str, *files: str) -> list[str]:
        return [f"data/prepared/{self._experiment(experiment).dataset}/{file}" for file in files]

    def _features(self, experiment: str) -> list[str]:
        spec = self._experiment(experiment)
        return [f"features/{spec.dataset}/{name}.h5" for name in spec.views.values()]

    def _runs(self, experiments: list[str], folder: str = RUNS["cross-modal"]) -> list[str]:
        return self._seeds(folder + "/{}/seed{}.json", experiments)

    def _seeds(self, path: str, experiments: list[str]) -> list[str]:
        """A path for each seed of each experiment."""
        return [path.format(e, seed) for e in experiments for seed in self.params.seeds_of(e)]

    def _scored(self, step: str, wildcards: Wildcards, **shown: str) -> str:
        plugin = self.params.fit_job(wildcards.experiment)["plugin"]
        return _spec(step, {"plugin": plugin, **shown}, "methods")

    def _embedded(self, step: str, wildcards: Wildcards) -> str:
        job = self.params.fit_job(wildcards.experiment)
        entry = {k: job[k] for k in ("plugin", "views", "relevance", "changes") if k in job}
        return _spec(step, entry | self._gpu(self.gpu(wildcards)), "methods")

    def _shown(self, step: str, experiments: list[str], **shown: Any) -> str:
        specs = {name: self._experiment(name).model_dump(exclude={"gpus"}) for name in experiments}
        return _spec(step, {**shown, "experiments": specs})


def _spec(step: str, entry: dict[str, Any], kind: str = "") -> str:
    """What a job depends on: with a kind of plug-ins, it runs the one that the entry names."""
    modules = [f"crossmodal.steps.{step}"]
    modules += [f"crossmodal.{kind}.{entry['plugin']}"] if kind else []
    return json.dumps({**entry, "code": code(*modules)}, sort_keys=True)


def _stamp(files: Iterable[Path]) -> str:
    """Hash of names, sizes and times."""
    return digest(*((str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files))


def _weights(file: str) -> list[str]:
    return [f"data/raw/weights/{file}"] if file else []
