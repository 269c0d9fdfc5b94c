"""Run a method or a feature on 50 rendered items, to test it in seconds."""

import contextlib
import inspect
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crossmodal.config import plugins
from crossmodal.config.fit import Options
from crossmodal.config.params import Params, read
from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import Ragged
from crossmodal.data.feature_reader import read_features
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.learning.method import Method, Takes
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

SCENES: Options = {
    "train": 30,
    "validation": 10,
    "test": 10,
    "image_size": 64,
    "voices": 2,
    "seed": 0,
}
KINDS = ("methods", "features")
DATASET, FEATURES, WEIGHTS = Path("data/prepared/trial"), Path("features"), Path("weights")
MODEL, EMBEDDINGS = Path("models/trial/seed0/model.safetensors"), Path("embeddings.h5")


def try_(name: str, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Run one entry of `methods` or `features` on 50 rendered scenes, in a temporary folder.

    Raises:
        CrossmodalError: If there is no such entry, or its plug-in fails; with file and line.
    """
    params = read(path, *overlays)
    kinds = [kind for kind in KINDS if name in getattr(params, kind)]
    if not kinds:
        for kind in KINDS:
            if name in plugins.names(kind):
                advice = f"add `{name}: {{}}`, with its options"
                raise CrossmodalError(f"{kind}: has no {name!r}; {advice}")
        raise CrossmodalError(
            f"methods, features: {unknown(name, {*params.methods, *params.features})}"
        )
    params.require(kinds[0], name)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        plugin = params.instance(kinds[0], name)
        try:
            (_try_method if kinds[0] == "methods" else _try_feature)(params, name, plugin)
        except CrossmodalError:
            raise
        except Exception as error:  # a user's file may raise anything
            if not (place := _place(plugin, error)):
                raise
            raise CrossmodalError(f"{place}: {type(error).__name__}: {error}") from error
    print(f"{kinds[0]}.{name}: fine, {time.monotonic() - start:.1f} s")


def _try_feature(params: Params, name: str, feature: Feature) -> None:
    _prepare(feature.modality)
    _extract(params, name)
    print(f"{name}: {_described(read_features(FEATURES / f'{name}.h5').features)}")


def _try_method(params: Params, name: str, method: Method) -> None:
    views = _views(params, method.takes)
    _prepare(*views)
    for feature in views.values():
        _extract(params, feature)
    _fetch(method.weights)
    print(f"{name}: 30 training items, " + ", ".join(f"{m}: {f}" for m, f in views.items()))
    fit = TrainSpec(**params.plugin("methods", name), views=views, relevance="category", search={})
    train(fit, MODEL, DATASET, FEATURES, WEIGHTS, seed=0)
    embed(EmbedSpec(views=views, relevance="category"), EMBEDDINGS, DATASET, FEATURES, MODEL)
    evaluate(EvaluateSpec(), Path("metrics.json"), EMBEDDINGS, seed=0)
    results = read_metrics(Path("metrics.json"))
    for kind, metrics in (
        ("this method", results["test"]),
        ("random scores", results["controls"]["random"]),
    ):
        average = metrics["average"].items()
        print(f"  {kind}:", ", ".join(f"{m} {v:.3g}" for m, v in average if m in ("mAP", "R@1")))


def _views(params: Params, takes: Takes) -> dict[str, str]:
    """Return the first features that fit a method, of two modalities."""
    views: dict[str, str] = {}
    for modality, shapes in takes.items():
        for name in params.usable("features"):
            facts = params.feature_of(name)
            suits = facts.modality == modality and facts.shape in shapes
            # the authors of `scenes` published no matrices
            if suits and params.plugin("features", name)["plugin"] != "published":
                views.setdefault(modality, name)
    return dict(list(views.items())[:2])


def _prepare(*modalities: str) -> None:
    options = SCENES | {"spoken": int("speech" in modalities)}
    prepare(PrepareSpec(plugin="scenes", options=options), Path("raw"), DATASET)


def _extract(params: Params, name: str) -> None:
    """Extract a feature and, before, those that it is computed from."""
    facts = params.feature_of(name)
    for source in facts.of:
        _extract(params, source)
    _fetch(facts.weights)
    output = FEATURES / f"{name}.h5"
    spec = ExtractSpec(**params.plugin("features", name))
    extract(spec, output, DATASET, FEATURES, WEIGHTS)


def _fetch(weights: str) -> None:
    """Fetch weights of a network, if there is one and they are missing."""
    if weights and not (WEIGHTS / weights).exists():
        fetch_weights(WEIGHTS / weights)


def _described(rows: np.ndarray | Ragged) -> str:
    if isinstance(rows, Ragged):
        return f"{len(rows)} sequences of {rows.values.shape[1:]} {rows.values.dtype}"
    wrong = rows.size - np.isfinite(rows).sum()
    return f"rows {rows.shape} {rows.dtype}" + (f", {wrong} numbers not finite" if wrong else "")


def _place(plugin: object, error: Exception) -> str:
    """Return file and line of the plug-in in a traceback; empty if it is not in it.

    What a caller lacks, an argument or an attribute, is the plug-in's if the message names it.
    """
    file = inspect.getsourcefile(type(plugin))
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    alone = str(file) if type(plugin).__name__ in str(error) else ""
    return f"{file}, line {lines[-1]}" if lines else alone
