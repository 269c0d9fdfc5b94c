"""The jobs of an experiment of one's own, one after the other, where the workflow runs them."""

from pathlib import Path

from crossmodal.reporting.run_metrics import read_metrics
from crossmodal.steps.embed import embed
from crossmodal.steps.evaluate import evaluate
from crossmodal.steps.extract import extract
from crossmodal.steps.prepare import prepare
from crossmodal.steps.train import train
from crossmodal.steps.weights import weights as fetch_weights
from crossmodal.workflow.specs import (
    EmbedSpec,
    EvaluateSpec,
    ExtractSpec,
    PrepareSpec,
    TrainSpec,
)

WEIGHTS = Path("data/raw/weights")


def run(found, name):
    """Run the jobs of an experiment in the working folder; its metrics."""
    spec = found.experiments[name]
    folders = Path("data/prepared", spec.dataset), Path("features", spec.dataset)
    if not folders[0].exists():
        prepare(PrepareSpec(**found.plugin("datasets", spec.dataset)), Path("raw"), folders[0])
    for feature in spec.views.values():
        weights, output = found.feature_of(feature).weights, folders[1] / f"{feature}.h5"
        if weights and not (WEIGHTS / weights).exists():
            fetch_weights(WEIGHTS / weights)
        if not output.exists():
            options = ExtractSpec(**found.plugin("features", feature))
            extract(options, output, *folders, WEIGHTS)
    fit, model = found.fit(name), Path("models", name, "seed0", "model.safetensors")
    fitted = {"views": dict(spec.views), "relevance": spec.relevance}
    options = {"plugin": fit.plugin, "options": fit.options, "search": fit.search}
    train(TrainSpec(**options, **fitted), model, *folders, WEIGHTS, seed=0)
    embeddings, metrics = Path("embeddings", name, "seed0.h5"), Path("runs", f"{name}.json")
    embed(EmbedSpec(**fitted), embeddings, *folders, model)
    evaluate(EvaluateSpec(), metrics, embeddings, seed=0)
    return read_metrics(metrics)
