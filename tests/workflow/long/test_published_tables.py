"""Every experiment of SAM's Tables 1 and 2, on small archives in the official layouts.

Features, options and published numbers are those of params.yaml; only the image network is another
one with random weights, and networks are small and learn for two epochs.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.config import params
from crossmodal.config.fit import non_defaults
from crossmodal.steps.embed import embed
from crossmodal.steps.evaluate import evaluate
from crossmodal.steps.extract import extract
from crossmodal.steps.prepare import prepare
from crossmodal.steps.tabulate import tabulate
from crossmodal.steps.train import train
from crossmodal.workflow.report_specs import TabulateSpec
from crossmodal.workflow.specs import EmbedSpec, EvaluateSpec, ExtractSpec, PrepareSpec, TrainSpec
from tests.datasets import layouts
from tests.project_params import PARAMS

# table -> layout of its dataset
TABLES = {
    "sam_pascal": "pascal_sentences",
    "sam_nuswide_10k": "nuswide",
    "sam_wikipedia": "wikipedia",
    "sam_wikipedia_462": "wikipedia",
    "sam_nuswide_top10": "nuswide",
}
NETWORK = {"backbone": "squeezenet1_1", "weights": "random"}
BRIEF = {"epochs": 2, "batch": 40, "iterations": 5, "neighbours": 20, "landmarks": 60, "dims": 4}
STEPS = ("steps", "pretraining_steps", "classifier_steps", "correspondence_steps")
BRIEF |= dict.fromkeys(STEPS, 2)


def brief(options, known):
    """Options, fewer of everything; those that are known may have a default alone."""
    small = {key: BRIEF[key] for key in known & BRIEF.keys()}
    return {key: thin(value) for key, value in options.items()} | small


def brief_method(name):
    """An entry of `methods`."""
    return brief(PARAMS.methods[name], PARAMS.plugin("methods", name)["options"].keys())


def thin(option):
    """Layers of eight units."""
    if isinstance(option, list):
        return [8] * len(option)
    if isinstance(option, dict):
        return {key: thin(value) for key, value in option.items()}
    return 8 if isinstance(option, int) and not isinstance(option, bool) else option


@pytest.fixture(scope="module")
def small():
    """The project's params, brief."""
    tables = {name: PARAMS.tables[name].model_dump() | {"figures": []} for name in TABLES}
    shown = {
        e: PARAMS.experiments[e].model_dump() for t in tables.values() for e in t["experiments"]
    }
    for spec in shown.values():
        spec |= {"options": brief(spec["options"], spec["options"].keys()), "search": {}}
    methods = {spec["method"] for spec in shown.values()}
    return params.parse(
        {
            "suite": "sam",
            "suites": {"sam": list(TABLES)},
            "seeds": 1,
            "tables": tables,
            "figures": {},
            "experiments": shown,
            "datasets": PARAMS.datasets,
            "features": PARAMS.features
            | {"vgg19_centre": PARAMS.features["vgg19_centre"] | NETWORK},
            "methods": {name: brief_method(name) for name in methods},
        }
    )


@pytest.fixture(scope="module", params=TABLES)
def made(request, small, tmp_path_factory):
    """A table, with the metrics it was made of."""
    name, layout = request.param, layouts.every()[TABLES[request.param]]
    table, folder = small.tables[name], tmp_path_factory.mktemp(name)
    entry = small.experiments[table.experiments[0]].dataset
    with pytest.MonkeyPatch.context() as patch:
        layouts.shrink(patch, TABLES[name], layout.CONSTANTS)
        (folder / "raw").mkdir()
        layout.make(folder / "raw", np.random.default_rng(0))
        spec = PrepareSpec(plugin=TABLES[name], options=layout.DATASETS[entry])
        prepare(spec, folder / "raw", folder / "data")
    for feature in sorted(
        {f for e in table.experiments for f in small.experiments[e].views.values()}
    ):
        extract_with_sources(small, feature, folder)
    runs = [fit_and_evaluate(small, experiment, folder) for experiment in table.experiments]
    shown = {e: small.experiments[e] for e in table.experiments}
    spec = TabulateSpec(table=table, experiments=shown, deterministic=[], departures=[], figures={})
    page = folder / f"{name}.md"
    tabulate(spec, page, page.with_suffix(".csv"), runs)
    return SimpleNamespace(table=table, experiments=shown, lines=page.read_text().splitlines())


def extract_with_sources(small, feature, folder):
    for source in small.feature_of(feature).of:
        extract_with_sources(small, source, folder)
    output = folder / f"{feature}.h5"
    if not output.exists():
        spec = ExtractSpec(**small.plugin("features", feature))
        extract(spec, output, folder / "data", folder, folder)


def fit_and_evaluate(small, experiment, folder):
    fit = small.fit(experiment)
    spec = EmbedSpec(views=fit.views, relevance=fit.relevance, changes=fit.changes)
    model = folder / experiment / "model.safetensors"
    train(TrainSpec(**non_defaults(fit)), model, folder / "data", folder, folder, 0)
    embeddings, metrics = folder / f"{experiment}.h5", folder / experiment / "seed0.json"
    embed(spec, embeddings, folder / "data", folder, model)
    evaluate(EvaluateSpec(), metrics, embeddings, 0)
    return metrics


def test_the_table_has_every_method_next_to_what_was_published(made):
    for experiment in made.experiments.values():
        (line, *_) = [x for x in made.lines if x.startswith(f"| {experiment.label} |")]
        _, _, _, published, reproduced, *_ = (cell.strip() for cell in line.split("|"))
        assert 0 < float(reproduced.strip("*").split()[0]) <= 1
        assert bool(published) == bool(experiment.published)
