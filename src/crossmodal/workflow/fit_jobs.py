"""Jobs up to embeddings: the files of each, and all that it depends on."""

from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Protocol

from crossmodal.config.experiment import Experiment
from crossmodal.config.fit import non_defaults
from crossmodal.config.params import Params
from crossmodal.config.plugins import module
from crossmodal.data.media import SHARDS
from crossmodal.data.prepared import FILES, is_prepared
from crossmodal.errors import ENCODERS, CrossmodalError
from crossmodal.io.files import digest
from crossmodal.workflow import own_files
from crossmodal.workflow.code_hash import code
from crossmodal.workflow.specs import (
    EmbedSpec,
    ExtractSpec,
    PrepareSpec,
    Spec,
    TrainSpec,
)


class Wildcards(Protocol):
    """Values of a rule's wildcards, as Snakemake hands them to functions; a job has some of these.

    Attributes:
        dataset: Key of `datasets` in params.yaml.
        feature: Key of `features`.
        part: Number of a part of a feature, from 1.
        parts: Number of all its parts.
        experiment: Key of `experiments`.
        seed: Of a run.
        table: Key of `tables`.
        drawing: Figure in `results/figures/`, without its suffix.
        qrels: Name of qrels.
        folds: Number of parts of the test items.
    """

    dataset: str
    feature: str
    part: str
    parts: str
    experiment: str
    seed: str
    table: str
    drawing: str
    qrels: str
    folds: str


class FitJobs:
    """Jobs up to embeddings.

    A method with a rule's name returns the specification of a job as JSON: its options, and `code`,
    the hash of all code that it runs.

    Args:
        params: The checked params.yaml.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        self.suite = params.suites[params.suite]

    def experiments(self) -> list[str]:
        """Return all experiments that the suite shows."""
        names = (e for table in self.suite for e in self.params.shown_in(table))
        return list(dict.fromkeys(names))

    def datasets(self) -> list[str]:
        """Return the datasets of the suite."""
        return sorted({self._experiment(name).dataset for name in self.experiments()})

    def views(self) -> list[str]:
        """Return the features that methods of the suite take."""
        views = (self._experiment(name).views.values() for name in self.experiments())
        return sorted({feature for each in views for feature in each})

    # acquire and prepare

    def raw_files(self, wildcards: Wildcards) -> list[str]:
        """Return the published files of a dataset; datasets of one plug-in share them."""
        return self._raw_files(wildcards.dataset)

    def all_raw_files(self, wildcards: Wildcards) -> list[str]:
        """Return the published files of the suite; of a prepared dataset, those that exist."""
        return [
            path
            for dataset in self.datasets()
            for path in self._raw_files(dataset)
            if not is_prepared(dataset) or Path(path).exists()
        ]

    def all_prepared_files(self, wildcards: Wildcards) -> list[str]:
        """Return the prepared files of the suite, and the published qrels that it shows."""
        items = [f"data/prepared/{dataset}/{file}" for dataset in self.datasets() for file in FILES]
        return [*items, *dict.fromkeys(self._published_qrels())]

    def _prepare(self, step: str, wildcards: Wildcards) -> str:
        """Return the specification of preparing: options, and the user's own files."""
        entry = self.params.plugin("datasets", wildcards.dataset)
        # as inputs of the rule, many files of a user would fill records and logs
        files = own_files.content(self.params.dataset_of(wildcards.dataset).files())
        return job_spec(step, PrepareSpec(**entry, files=files), f"datasets.{entry['plugin']}")

    prepare = partialmethod(_prepare, "prepare")
    prepare_in_shards = partialmethod(_prepare, "prepare_in_shards")

    def shard_size(self, wildcards: Wildcards) -> int | None:
        """Return the bytes of a shard, at most."""
        return self.params.shard_size_of(wildcards.dataset)

    def judged_files(self, wildcards: Wildcards) -> list[str]:
        """Return the published files that qrels are read from."""
        folder = self._raw_folder(wildcards.dataset)
        files = self.params.dataset_of(wildcards.dataset).qrels.get(wildcards.qrels, ())
        return [f"{folder}/{file}" for file in files]

    def judge(self, wildcards: Wildcards) -> str:
        """Return the specification of published qrels: the dataset and its options."""
        entry = self.params.plugin("datasets", wildcards.dataset)
        return job_spec("judge", PrepareSpec(**entry), f"datasets.{entry['plugin']}")

    # extract

    def all_features(self, wildcards: Wildcards) -> list[str]:
        """Return the feature files of the suite."""
        return [path for name in self.experiments() for path in self._features(name)]

    def feature_data(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the prepared dataset that a feature reads."""
        reads = self.params.feature_of(wildcards.feature).reads
        return [f"data/prepared/{wildcards.dataset}/{name}" for name in reads]

    def feature_shards(self, wildcards: Wildcards) -> list[str]:
        """Return the folder of media in shards, if there is one and a feature reads it."""
        reads = self.params.feature_of(wildcards.feature).reads
        return self._shards(wildcards.dataset) if "media.zip" in reads else []

    def feature_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the features that a feature is computed from."""
        of = self.params.feature_of(wildcards.feature).of
        return [f"features/{wildcards.dataset}/{name}.h5" for name in of]

    def feature_weights(self, wildcards: Wildcards) -> list[str]:
        """Return the weights of the network that a feature needs.

        Raises:
            CrossmodalError: If the feature is not there, nor are packages that it needs.
        """
        name, path = wildcards.feature, f"features/{wildcards.dataset}/{wildcards.feature}.h5"
        if (lacking := self.params.lacking(name)) and not Path(path).exists():
            raise CrossmodalError(f"{path}: needs {' and '.join(lacking)}; {ENCODERS}")
        return _weights(self.params.feature_of(name).weights)

    def feature_threads(self, wildcards: Wildcards) -> int:
        """Return the threads that a feature's extraction makes use of."""
        return self.params.feature_of(wildcards.feature).threads

    def extract(self, wildcards: Wildcards) -> str:
        """Return the specification of an extraction: options, language of texts, own files."""
        entry = self.params.plugin("features", wildcards.feature)
        further = self._arithmetic(self.params.feature_of(wildcards.feature).gpu)
        further |= {"language": self._language(wildcards)}
        named = map(Path, self.params.feature_of(wildcards.feature).files)
        if files := [path for path in named if path.is_file()]:  # the job reports missing ones
            further |= {"files": own_files.content(files)}
        spec = ExtractSpec.model_validate(entry | further)
        return job_spec("extract", spec, f"features.{entry['plugin']}")

    def parts(self, wildcards: Wildcards) -> list[str]:
        """Return the parts of a feature that several jobs extract."""
        jobs = self.params.jobs_of(wildcards.feature)
        folder = f"features/{wildcards.dataset}/{wildcards.feature}.parts"
        return [f"{folder}/{part}-of-{jobs}.zip" for part in range(1, jobs + 1)]

    # train

    def labels_and_splits(self, wildcards: Wildcards) -> list[str]:
        """Return the files that state the labels and splits of an experiment's dataset."""
        return self._prepared(wildcards.experiment, "items.csv", "splits.csv")

    def features(self, wildcards: Wildcards) -> list[str]:
        """Return the feature files of an experiment's views."""
        return self._features(wildcards.experiment)

    def searched(self, wildcards: Wildcards) -> list[str]:
        """Return the facts of the fit whose search chose the options of this one."""
        if wildcards.seed == "0" or not self.params.fit(wildcards.experiment).searched_by:
            return []
        return [f"models/{wildcards.experiment}/seed0/model.json"]

    def weights(self, wildcards: Wildcards) -> list[str]:
        """Return the weights that an experiment's method begins with."""
        return _weights(self.params.facts_of(wildcards.experiment).weights)

    def train(self, wildcards: Wildcards) -> str:
        """Return the specification of a fit: the method's options, and its data."""
        return self._train(wildcards.experiment)

    def fit_of(self, experiment: str) -> str:
        """Return the digest of a fit: a result's files may outlive the model that they are of."""
        return digest(self._train(experiment))

    def _embedded(self, step: str, wildcards: Wildcards) -> str:
        """Return the specification of embedding: the fit, and its data."""
        fit = self.params.fit(wildcards.experiment)
        read = {k: v for k, v in non_defaults(fit).items() if k in EmbedSpec.model_fields}
        further = self._arithmetic(self.params.facts_of(wildcards.experiment).gpu)
        spec = EmbedSpec.model_validate(read | {"fit": self.fit_of(wildcards.experiment)} | further)
        return job_spec(step, spec, f"methods.{fit.plugin}")

    embed = partialmethod(_embedded, "embed")

    def all_embeddings(self, wildcards: Wildcards) -> list[str]:
        """Return the embeddings of the suite."""
        return self._seeds("embeddings/{}/seed{}.h5", self.experiments())

    def _experiment(self, name: str) -> Experiment:
        return self.params.experiments[name]

    def _arithmetic(self, gpu: bool) -> dict[str, object]:
        """Return what params.yaml says of arithmetic; `deterministic` is of jobs on a GPU."""
        deterministic = self.params.deterministic if gpu else None
        return {"deterministic": deterministic, "portable": self.params.portable}

    def _language(self, wildcards: Wildcards) -> str:
        """Return the language of the texts that a feature reads."""
        reads_text = self.params.feature_of(wildcards.feature).modality == "text"
        return self.params.dataset_of(wildcards.dataset).language if reads_text else "en"

    def _raw_folder(self, dataset: str) -> str:
        return f"data/raw/{self.params.plugin('datasets', dataset)['plugin']}"

    def _raw_files(self, dataset: str) -> list[str]:
        sources = self.params.dataset_of(dataset).sources
        return [f"{self._raw_folder(dataset)}/{source.file}" for source in sources]

    def _shards(self, dataset: str) -> list[str]:
        folder = f"data/prepared/{dataset}/{SHARDS}"
        return [folder] if self.params.shard_size_of(dataset) else []

    def _published_qrels(self) -> Iterator[str]:
        for table in self.suite:
            for source in self.params.tables[table].qrels.values():
                if not source.endswith(".csv"):
                    for experiment in self.params.shown_in(table):
                        yield from self._prepared(experiment, f"qrels/{source}.csv")

    def _prepared(self, experiment: str, *files: str) -> list[str]:
        return [f"data/prepared/{self._experiment(experiment).dataset}/{file}" for file in files]

    def _features(self, experiment: str) -> list[str]:
        spec = self._experiment(experiment)
        return [f"features/{spec.dataset}/{name}.h5" for name in spec.views.values()]

    def _seeds(self, path: str, experiments: list[str]) -> list[str]:
        """Return a path for each seed of each experiment."""
        return [path.format(e, seed) for e in experiments for seed in self.params.seeds_of(e)]

    def _train(self, experiment: str) -> str:
        fit, of = self.params.fit(experiment), {"of": self.params.described(experiment)}
        arithmetic = self._arithmetic(self.params.facts_of(experiment).gpu)
        spec = TrainSpec.model_validate(non_defaults(fit) | of | arithmetic)
        return job_spec("train", spec, f"methods.{fit.plugin}")


def job_spec(step: str, spec: Spec, *plugins: str) -> str:
    """Return the specification of a job as JSON, with the hash of its code.

    Args:
        step: Name of the step.
        spec: All else that the job depends on.
        plugins: Plug-ins that it runs, such as 'methods.sam'.
    """
    modules = (module(*plugin.split(".")) for plugin in plugins)
    step = f"crossmodal.steps.{step}"
    return spec.model_copy(update={"code": code(step, *modules)}).to_json()


def _weights(file: str) -> list[str]:
    return [f"data/raw/weights/{file}"] if file else []
