# Checks params.yaml and offers the input functions of the rules.
import json
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, "src")

from crossmodal import params, plugins
from crossmodal.errors import CrossmodalError
from crossmodal.files import digest
from crossmodal.prepared import FILES
from crossmodal.schema import STEP
from crossmodal.source import code

# bash strict mode is Snakemake's own prefix, which this one replaces
shell.prefix("set -euo pipefail; export PYTHONPATH=src; ")

try:
    for path in workflow.configfiles:
        params.refuse_repeats(path)
    PARAMS = params.parse(config, Path(".snakemake/params-checked.json"))
except CrossmodalError as error:
    raise WorkflowError(str(error))

if PARAMS.mirror:
    os.environ.setdefault("CROSSMODAL_MIRROR", PARAMS.mirror)

SUITE = PARAMS.suites[PARAMS.suite]
RUNS = {e: PARAMS.seeds_of(e) for t in SUITE for e in PARAMS.shown_in(t)}
DATASETS = sorted({PARAMS.experiments[e].dataset for e in RUNS})


wildcard_constraints:
    dataset="|".join(PARAMS.datasets),
    source="|".join(plugins.names("datasets")),
    feature="|".join(PARAMS.features),
    experiment="|".join(PARAMS.experiments),
    table="|".join(PARAMS.tables),
    figure="|".join(PARAMS.figures) or "none",
    seed=r"\d+",


def spec(step, kind, entry):
    """A plug-in, its options and the hash of all code that runs: what a job depends on."""
    modules = [f"crossmodal.steps.{step}"] + (
        [f"crossmodal.{kind}.{entry['plugin']}"] if kind else []
    )
    return json.dumps({**entry, "code": code(*modules)}, sort_keys=True)


def raw_folder(dataset):
    """Folder of a dataset's published files; datasets of one plug-in share it."""
    return f"data/raw/{PARAMS.plugin('datasets', dataset)['plugin']}"


def raw_files(dataset):
    """Published files of a dataset."""
    return [f"{raw_folder(dataset)}/{s.file}" for s in PARAMS.dataset_of(dataset).sources]


def stamp(files):
    """Hash of names, sizes and times: as inputs, a user's files would fill records and logs."""
    return digest(*((str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files))


def prepare_spec(wildcards):
    """What preparing a dataset depends on."""
    entry = PARAMS.plugin("datasets", wildcards.dataset)
    files = PARAMS.dataset_of(wildcards.dataset).files()
    return spec("prepare", "datasets", {**entry, "files": stamp(files)})


def prepared_files(wildcards):
    """Files of the prepared dataset that a feature reads."""
    reads = PARAMS.feature_of(wildcards.feature).reads
    return [f"data/prepared/{wildcards.dataset}/{name}" for name in reads]


def source_features(wildcards):
    """Features that a feature is computed from."""
    of = PARAMS.feature_of(wildcards.feature).of
    return [f"features/{wildcards.dataset}/{name}.h5" for name in of]


def network_weights(wildcards):
    """Weights that a feature needs."""
    weights = PARAMS.feature_of(wildcards.feature).weights
    return [f"data/raw/weights/{weights}"] if weights else []


def extract_threads(wildcards):
    """Threads that an extractor makes use of."""
    return PARAMS.feature_of(wildcards.feature).threads


def extract_gpu(wildcards):
    """GPUs that an extractor makes use of."""
    return int(PARAMS.feature_of(wildcards.feature).gpu)


def extract_spec(wildcards):
    """What extracting a feature depends on."""
    return spec("extract", "features", PARAMS.plugin("features", wildcards.feature))


def feature_files(experiment):
    """Feature files of an experiment's views."""
    spec = PARAMS.experiments[experiment]
    return [f"features/{spec.dataset}/{name}.h5" for name in spec.views.values()]


def dataset_of(wildcards):
    """Dataset of an experiment."""
    return PARAMS.experiments[wildcards.experiment].dataset


def split_files(wildcards):
    """Labels and splits of an experiment's dataset."""
    folder = f"data/prepared/{dataset_of(wildcards)}"
    return [f"{folder}/items.csv", f"{folder}/splits.csv"]


def method_weights(wildcards):
    """Weights that an experiment's method begins with."""
    weights = PARAMS.weights_of(wildcards.experiment)
    return [f"data/raw/weights/{weights}"] if weights else []


def method_gpu(wildcards):
    """GPUs that an experiment's method makes use of."""
    return int(PARAMS.uses_gpu(wildcards.experiment))


def fit_spec(wildcards):
    """What a fit depends on."""
    return spec("train", "methods", PARAMS.fit_job(wildcards.experiment))


def embed_spec(wildcards):
    """What embedding depends on; the method's options come with the model."""
    job = PARAMS.fit_job(wildcards.experiment)
    return spec("embed", "methods", {k: job[k] for k in ("plugin", "views", "labels")})


def scored_spec(step, experiment, **shown):
    """What follows from embeddings; the method's options come with these."""
    plugin = PARAMS.fit_job(experiment)["plugin"]
    return spec(step, "methods", {"plugin": plugin, **shown})


def evaluate_spec(wildcards):
    """What the metrics depend on."""
    return scored_spec("evaluate", wildcards.experiment)


def within_spec(wildcards):
    """What the metrics within a modality depend on."""
    return scored_spec("within", wildcards.experiment)


def experiment_runs(wildcards):
    """Metrics of all seeds of an experiment."""
    return all_runs([wildcards.experiment])


def experiment_curves(wildcards):
    """Learning curves of all seeds of an experiment."""
    name = wildcards.experiment
    return [f"models/{name}/seed{seed}/curve.csv" for seed in PARAMS.seeds_of(name)]


def table_curves(wildcards):
    """Curves of all experiments that a table shows."""
    shown = PARAMS.tables[wildcards.table].experiments
    return expand("results/curves/{kind}/{e}.csv", kind=["learning", "precision_scope"], e=shown)


def figures_spec(wildcards):
    """What a table's figures show, and how."""
    table = PARAMS.tables[wildcards.table]
    shown = [[name, PARAMS.experiments[name].row()] for name in table.experiments]
    return spec("figures", None, {"title": table.title, "experiments": shown})


def shown_files(wildcards):
    """What a page of examples shows: texts and media of an experiment's dataset."""
    folder = f"data/prepared/{dataset_of(wildcards)}"
    return [f"{folder}/{name}" for name in ("items.csv", "captions.csv", "media.zip")]


def examples_spec(wildcards):
    """What a page of examples depends on."""
    label = PARAMS.experiments[wildcards.experiment].row()
    return scored_spec("examples", wildcards.experiment, label=label)


def all_runs(experiments, folder="results/runs"):
    """Metrics of all runs of some experiments."""
    return [f"{folder}/{e}/seed{seed}.json" for e in experiments for seed in PARAMS.seeds_of(e)]


def table_runs(wildcards):
    """Metrics of all runs that a table shows."""
    table = PARAMS.tables[wildcards.table]
    folder = {"cross-modal": "results/runs", "intra-modal": "results/within"}[table.retrieval]
    return all_runs(table.experiments, folder)


def table_figures(wildcards):
    """Figures below a table that params.yaml describes."""
    table = PARAMS.tables[wildcards.table]
    names = [
        *table.figures,
        *([f"{wildcards.table}/map"] if table.map else []),
        *(f"margins/{experiment}" for experiment in table.margins),
        *(f"similarity/{experiment}" for experiment in table.similarity),
    ]
    return [f"results/figures/{name}.svg" for name in names]


def margins_spec(wildcards):
    """What a figure of margins shows."""
    return spec("margins", None, {"title": PARAMS.experiments[wildcards.experiment].row()})


def mapped(wildcards):
    """The experiment that a table's map shows."""
    return PARAMS.tables[wildcards.table].map.experiment


def map_dataset(wildcards):
    """Dataset of the experiment that a table's map shows."""
    return PARAMS.experiments[mapped(wildcards)].dataset


def map_spec(wildcards):
    """What a map shows."""
    spec_of = PARAMS.experiments[mapped(wildcards)]
    labels = PARAMS.tables[wildcards.table].map.labels
    shown = {"title": spec_of.row(), "labels": labels, "protocol": spec_of.labels}
    return spec("map", None, shown)


def figure_files(wildcards):
    """What a figure is drawn from: learning curves, or metrics of all runs."""
    figure = PARAMS.figures[wildcards.figure]
    if figure.x == STEP:
        return [f"results/curves/learning/{e}.csv" for e in figure.experiments]
    return all_runs(figure.experiments)


def shown_spec(step, **shown):
    """A table or a figure, and the experiments that it shows."""
    (part,) = shown.values()
    dump = {name: value.model_dump() for name, value in shown.items()}
    dump["experiments"] = {e: PARAMS.experiments[e].model_dump() for e in part.experiments}
    return spec(step, None, dump)


def similarity_spec(wildcards):
    """What a matrix of scores depends on."""
    title = PARAMS.experiments[wildcards.experiment].row()
    return scored_spec("similarity", wildcards.experiment, title=title)


def table_spec(wildcards):
    """What a table shows, and how."""
    return shown_spec("tabulate", table=PARAMS.tables[wildcards.table])


def figure_spec(wildcards):
    """What a figure shows, and how."""
    return shown_spec("plot", figure=PARAMS.figures[wildcards.figure])
