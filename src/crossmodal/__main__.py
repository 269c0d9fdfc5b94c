"""The command line: one subcommand per rule of the workflow. Arguments are files."""

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crossmodal.errors import CrossmodalError

app = typer.Typer(
    help=(
        "From raw data to tables of published next to reproduced numbers.\n\n"
        "Snakemake calls these commands, one per rule; the whole walk is "
        "`snakemake --cores 8 results/tables/all.md`. Call one by hand to look into a single step."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Spec = Annotated[
    dict,
    typer.Argument(
        parser=json.loads,
        metavar="SPEC",
        help="Plug-in and options as JSON, as Snakemake shows it.",
    ),
]
Output = Annotated[Path, typer.Argument(help="What is written, at once when it is complete.")]
Dataset = Annotated[Path, typer.Option("--dataset", help="Folder of the prepared dataset.")]
Features = Annotated[Path, typer.Option("--features", help="Folder of the dataset's features.")]
Weights = Annotated[Path, typer.Option("--weights", help="Folder of networks' weights.")]
Embeddings = Annotated[Path, typer.Option("--embeddings", help="Embeddings of the run.")]
Runs = Annotated[list[Path], typer.Argument(help="Metrics: <experiment>/seed<n>.json.")]
Params = Annotated[Path, typer.Option("--params", help="The file that says what to run.")]
Seed = Annotated[int, typer.Option(help="Seeds everything random.")]


@app.command()
def download(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset's file in datasets/.")],
    output: Output,
) -> None:
    """Fetch one published file of a dataset, from its host or from a mirror.

    CROSSMODAL_MIRROR names a folder or URL with one sub-folder per dataset.
    """
    from crossmodal.steps.acquire import download

    download(dataset, output)


@app.command()
def weights(output: Output) -> None:
    """Fetch a network's pretrained weights, from torchvision or from a mirror's `weights/`."""
    from crossmodal.steps.acquire import fetch_weights

    fetch_weights(output)


@app.command()
def prepare(
    spec: Spec,
    output: Output,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
) -> None:
    """Turn published files into items, captions, splits and media."""
    from crossmodal.steps.prepare import prepare

    prepare(spec, raw, output)


@app.command()
def extract(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
) -> None:
    """Extract one feature of a dataset; a stopped extraction goes on where it was."""
    from crossmodal.steps.extract import extract

    extract(spec, output, dataset, features, weights)


@app.command()
def train(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
    seed: Seed,
) -> None:
    """Fit a method on the training split and choose its options on the validation split.

    Writes model.safetensors, model.json (options, search, timing) and curve.csv into OUTPUT's
    folder; training that was stopped goes on from its last checkpoint.
    """
    from crossmodal.steps.train import train

    train(spec, output, dataset, features, weights, seed)


@app.command()
def embed(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    model: Annotated[Path, typer.Option(help="model.safetensors of the run.")],
) -> None:
    """Embed the validation and test splits with a fitted method."""
    from crossmodal.steps.embed import embed

    embed(spec, output, dataset, features, model)


@app.command()
def evaluate(output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute all metrics of both directions, and those of the controls."""
    from crossmodal.steps.evaluate import evaluate

    evaluate(output, embeddings, seed)


@app.command()
def within(output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute the metrics of the retrieval within each modality, and those of the controls."""
    from crossmodal.steps.within import within

    within(output, embeddings, seed)


@app.command()
def examples(spec: Spec, output: Output, dataset: Dataset, embeddings: Embeddings) -> None:
    """Show queries and their first results, and the worst failures, on one HTML page."""
    from crossmodal.steps.examples import examples

    examples(spec, output, dataset, embeddings)


@app.command()
def similarity(spec: Spec, output: Output, embeddings: Embeddings) -> None:
    """Draw the scores of the first test items, each against each."""
    from crossmodal.steps.similarity import similarity

    similarity(spec, output, embeddings)


@app.command()
def tabulate(spec: Spec, output: Output, runs: Runs) -> None:
    """Write a table, as Markdown and as CSV, of published next to reproduced numbers."""
    from crossmodal.steps.tabulate import tabulate

    tabulate(spec, output, runs)


@app.command()
def curves(
    learning: Output,
    precision: Output,
    runs: Runs,
    models: Annotated[Path, typer.Option(help="Folder of models.")],
) -> None:
    """Average an experiment's learning and precision-scope curves over its seeds."""
    from crossmodal.steps.curves import curves

    curves(learning, precision, runs, models)


@app.command()
def figures(
    spec: Spec,
    learning: Output,
    precision: Output,
    curves: Annotated[Path, typer.Option(help="Folder of curves.")],
) -> None:
    """Draw the learning and precision-scope curves of a table's experiments."""
    from crossmodal.steps.figures import figures

    figures(spec, learning, precision, curves)


@app.command()
def margins(
    spec: Spec,
    output: Output,
    curve: Annotated[Path, typer.Option(help="curve.csv of a run.")],
) -> None:
    """Draw the margins of a run by epoch: of all triplets, and by pair of categories."""
    from crossmodal.steps.margins import margins

    margins(spec, output, curve)


@app.command()
def plot(
    spec: Spec,
    output: Output,
    files: Annotated[list[Path], typer.Argument(help="Metrics, or learning curves.")],
) -> None:
    """Draw a figure over experiments: a metric against an option, or against the training."""
    from crossmodal.steps.plot import plot

    plot(spec, output, files)


@app.command(name="map")
def draw_map(spec: Spec, output: Output, dataset: Dataset, embeddings: Embeddings) -> None:
    """Draw the embeddings of test items with two labels in a plane."""
    from crossmodal.steps.map import draw_map

    draw_map(spec, output, dataset, embeddings)


@app.command()
def merge(
    page: Output,
    metrics: Output,
    tables: Annotated[list[Path], typer.Argument(help="Markdown of each table.")],
) -> None:
    """Put a suite's tables on one page, and their numbers into one JSON file."""
    from crossmodal.steps.merge import merge

    merge(page, metrics, tables)


@app.command()
def pull(
    outputs: Annotated[
        list[str] | None, typer.Argument(help="Outputs as in dvc.yaml, say `features`; or all.")
    ] = None,
) -> None:
    """Pull what a colleague pushed, and check every file against dvc.lock.

    Afterwards `snakemake` and `dvc repro` run only what is not there or was made otherwise.
    """
    from crossmodal.sharing import pull

    print(f"{', '.join(pull(outputs or []))}: as in dvc.lock")


@app.command()
def datasets(params: Params = Path("params.yaml")) -> None:
    """List all datasets: what is there of each, its licence, and what to do next."""
    from crossmodal.steps.inventory import inventory

    inventory(params)


@app.command()
def check(
    dataset: Annotated[
        str | None, typer.Argument(help="A key of `datasets`: check what was prepared of it, too.")
    ] = None,
    params: Params = Path("params.yaml"),
) -> None:
    """Check params.yaml: unknown keys, wrong types, names that do not exist.

    Of a dataset: the size of its splits, and that no item and no image is in two of them.
    """
    from crossmodal.steps.check import check

    check(params, dataset)


def main() -> Any:
    """Run the command line; errors meant for the user are one message without a traceback."""
    # how a cluster ends jobs: exit, so that no temporary file stays where DVC takes it for output
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return app()
    except CrossmodalError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        # each library wraps the system's error in one of its own
        if "No space left on device" not in str(error):
            raise
        print(f"error: {error}; free some space and run the same command again", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
