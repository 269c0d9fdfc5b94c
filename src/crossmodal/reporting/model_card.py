"""The card of a model on the hub: what it is, how well it searches, and how to load it.

https://huggingface.co/docs/hub/model-cards describes the YAML at its head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crossmodal.config import plugins
from crossmodal.data.dataset import Dataset
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject
from crossmodal.metrics.resampling import COVERAGE
from crossmodal.models.fit_facts import Facts
from crossmodal.models.model_folder import Fitted
from crossmodal.reporting.cards import LIBRARY, fenced, languages, licence, page, rows
from crossmodal.reporting.item_draws import item_draws
from crossmodal.reporting.query_values import SUFFIX, read_query_values
from crossmodal.reporting.rows import with_decimals
from crossmodal.reporting.run_metrics import read_metrics

TYPES = {"mAP": "map", "rsum": "rsum"} | {f"R@{k}": f"recall_at_{k}" for k in (1, 5, 10)}
BOTH = {"average": "average of both directions", "both": "both directions"}
EXAMPLES = {
    "image": 'images=["beach.jpg"]',
    "text": 'texts=["a red ball"]',
    "speech": 'speech=["question.wav"]',
}


@dataclass(frozen=True)
class Measured:
    """A number of a run on its test items.

    Args:
        direction: '<query>-to-<gallery>', 'average' or 'both'.
        metric: A key of `TYPES`.
        value: The number.
        low: Lower end of its 95 % interval over the test items.
        high: Upper end.
    """

    direction: str
    metric: str
    value: float
    low: float
    high: float

    @property
    def where(self) -> str:
        """Return the direction in words."""
        return BOTH.get(self.direction, self.direction.replace("-", " "))


def measured(path: Path, facts: Facts) -> list[Measured]:
    """Return what a run reached on its test items; nothing where it was not evaluated.

    Args:
        path: The run's metrics, with the values per query beside them.
        facts: Of the fit that is described.

    Raises:
        CrossmodalError: If a file is corrupt, or of another fit.
    """
    if not path.exists():
        return []
    metrics, values = read_metrics(path), read_query_values(path.with_suffix(SUFFIX))
    if metrics["model"] != facts:
        raise CrossmodalError(f"{path}: of another fit than the model; evaluate the run again")
    drawn = item_draws({path: values})[path].items()
    return [
        Measured(d, metric, metrics["test"][d][metric], *np.percentile(draws, COVERAGE).tolist())
        for (d, metric), draws in drawn
        if metric in TYPES
    ]


def model_card(
    repository: str,
    run: str,
    fitted: Fitted,
    dataset: tuple[str, Dataset],
    numbers: Sequence[Measured],
) -> bytes:
    """Return the card.

    Args:
        repository: ORG/NAME.
        run: `<experiment>/seed<n>`.
        fitted: The model.
        dataset: What it was fitted on, and its name in params.yaml.
        numbers: What it reached there.
    """
    from huggingface_hub import EvalResult, ModelCardData

    (name, data), facts = dataset, fitted.facts
    terms, terms_name = licence(data.licence)
    head = ModelCardData(
        license=terms,
        license_name=terms_name,
        language=languages(data),
        library_name=LIBRARY,
        pipeline_tag="feature-extraction",
        tags=["cross-modal-retrieval", *fitted.views],
        datasets=[name],
        model_name=run,
        eval_results=[
            EvalResult(
                task_type="retrieval",
                dataset_type=name,
                dataset_name=name,
                dataset_split="test",
                metric_type=TYPES[number.metric],
                metric_name=f"{number.metric}, {number.where}",
                metric_value=number.value,
                metric_args={"interval": [number.low, number.high], "coverage": 0.95},
            )
            for number in numbers
        ],
    )
    method = plugins.summary(type(fitted.method))
    features = [f"{m} by `{v.meta['extractor']['plugin']}`" for m, v in fitted.views.items()]
    options = [[f"`{key}`", f"`{value}`"] for key, value in facts["options"].items()]
    return page(
        head.to_yaml(),
        [
            f"# {repository.partition('/')[2]}",
            method,
            "## How to load it",
            *_use(repository, fitted),
            "## What it was fitted on",
            f"The training split of `{name}`, seed {facts['seed']}; {', '.join(features)}. "
            "Options that were searched were chosen on the validation split.",
            rows(["option", "value"], options),
            *_results(name, numbers),
            "## Licence",
            f"Terms of the data: {data.licence}.",
            "## Citation",
            f"Method: {method}\n\nData: {data.citation}.",
        ],
    )


def _use(repository: str, fitted: Fitted) -> Iterator[str]:
    first, second = [*fitted.views][:2]
    yield fenced("sh", ["pip install crossmodal-retrieval"])
    yield fenced(
        "python",
        [
            "import crossmodal",
            "",
            f'model = crossmodal.load("hf://{repository}")',
            f"queries = model.embed({EXAMPLES[first]})",
            f"gallery = model.embed({EXAMPLES[second]})",
            f'print(model.score(queries, gallery, ("{first}", "{second}")))',
        ],
    )
    if files := sorted({file for view in fitted.views.values() for file in networks(view.meta)}):
        yield "It reads the weights of networks that are not in this repository:"
        yield fenced("sh", [f"crossmodal weights data/raw/weights/{file}" for file in files])


def networks(meta: JsonObject) -> Iterator[str]:
    """Yield the files of weights that a feature and those below it read."""
    origin = meta["extractor"]
    if file := plugins.make("features", origin["plugin"], origin["options"], "options").weights:
        yield file
    for inner in meta["sources"].values():
        yield from networks(inner)


def _results(dataset: str, numbers: Sequence[Measured]) -> Iterator[str]:
    if not numbers:
        return
    yield "## How well it searches"
    yield (
        f"On the test items of `{dataset}`, with intervals of 95 % by a bootstrap over them; R@K "
        "in percent."
    )
    cells = [
        [n.where, n.metric, *(with_decimals(n.metric, v) for v in (n.value, n.low, n.high))]
        for n in numbers
    ]
    yield rows(["direction", "metric", "value", "from", "to"], cells)
