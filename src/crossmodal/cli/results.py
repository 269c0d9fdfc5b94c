"""Steps of the workflow that make tables, figures and pages; arguments are files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from crossmodal.cli.arguments import (
    NO_FILES,
    PARAMS,
    Dataset,
    Json,
    Output,
    Overlays,
    Params,
    Runs,
    Spec,
)

RESULTS = "Results"
app = typer.Typer()


RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="<experiment>/seed<n>, or <experiment>: all its seeds.")
]


@app.command("show_examples", hidden=True)
def show_examples(
    spec: Spec,
    output: Output,
    embeddings: Annotated[list[Path], typer.Argument(help="Embedding file of each run.")],
    dataset: Dataset,
) -> None:
    """Write an HTML page of queries with their first results, and of the worst failures."""
    from crossmodal.steps.show_examples import show_examples as run
    from crossmodal.workflow.report_specs import ExamplesSpec

    run(ExamplesSpec.from_json(spec), output, embeddings, dataset)


@app.command("average_curves", hidden=True)
def average_curves(
    learning: Output,
    precision: Output,
    runs: Runs,
    models: Annotated[Path, typer.Option(help="Folder of models.")],
) -> None:
    """Average the learning and precision-scope curves of an experiment over its seeds."""
    from crossmodal.steps.average_curves import average_curves as run

    run(learning, precision, runs, models)


@app.command(hidden=True)
def draw(
    spec: Spec,
    output: Output,
    points: Output,
    inputs: Annotated[
        list[Path], typer.Argument(help="Metrics, curves or embeddings; items.csv of each dataset.")
    ],
) -> None:
    """Draw a figure as SVG, and write its points as CSV."""
    from crossmodal.steps.draw import draw as run
    from crossmodal.workflow.report_specs import DrawSpec

    run(DrawSpec.from_json(spec), output, points, inputs)


@app.command(hidden=True)
def tabulate(spec: Spec, output: Output, numbers: Output, runs: Runs) -> None:
    """Write a table of published and reproduced numbers, as Markdown and as CSV."""
    from crossmodal.steps.tabulate import tabulate as run
    from crossmodal.workflow.report_specs import TabulateSpec

    run(TabulateSpec.from_json(spec), output, numbers, runs)


@app.command(hidden=True)
def claims(
    spec: Spec,
    output: Output,
    numbers: Output,
    figure: Output,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Metrics: <experiment>/seed<n>.json.")
    ] = None,
) -> None:
    """Write the scorecard of the papers' claims, as Markdown, as CSV and as a forest plot."""
    from crossmodal.steps.claims import claims as run
    from crossmodal.workflow.report_specs import ClaimsSpec

    run(ClaimsSpec.from_json(spec), output, numbers, figure, runs or [])


@app.command(hidden=True)
def site(
    spec: Spec,
    output: Output,
    deviations: Annotated[Path, typer.Argument(help="docs/deviations.md.")],
) -> None:
    """Write a web page of all tables, curves and facts of a suite."""
    from crossmodal.steps.site import site as run
    from crossmodal.workflow.report_specs import SiteSpec

    run(SiteSpec.from_json(spec), output, deviations)


@app.command(hidden=True)
def merge(
    page: Output,
    metrics: Output,
    tables: Annotated[list[Path], typer.Argument(help="Markdown of each table.")],
) -> None:
    """Join the tables of a suite on one page, and their numbers in one JSON file."""
    from crossmodal.steps.merge import merge as run

    run(page, metrics, tables)


@app.command(
    rich_help_panel=RESULTS,
    short_help="Evaluate embeddings or scores of other programs",
    epilog="Example: crossmodal evaluate images.npy texts.npy",
)
def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Embeddings or codes of queries and of the gallery, or a matrix of scores; "
            "FILE:NAME where a file has several arrays."
        ),
    ],
    relevance: Annotated[
        Path | None,
        typer.Option(
            help="Qrels of TREC (.txt, .tsv, .qrels), or a matrix of grades; without: equal ids, "
            "or pairs of rows."
        ),
    ] = None,
    query_ids: Annotated[
        Path | None, typer.Option(help="Id or label of each query: .csv, .txt or .npy.")
    ] = None,
    gallery_ids: Annotated[
        Path | None, typer.Option(help="Id or label of each document: .csv, .txt or .npy.")
    ] = None,
    score: Annotated[
        Literal["cosine", "inner", "hamming"] | None,
        typer.Option(help="By default hamming for uint8, cosine for others."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Evaluate embeddings, codes or scores of other programs: all metrics, with intervals.

    Files are .npy, .npz, .mat, .h5, .parquet or .safetensors, read a part at a time.
    """
    from crossmodal.commands.evaluate import evaluate as run

    run(files, relevance, query_ids, gallery_ids, score, as_json)


@app.command(
    rich_help_panel=RESULTS,
    short_help="Write rankings as run and qrels files of TREC",
    epilog="Example: crossmodal export scenes_sam --trec",
)
def export(
    run: RunName,
    trec: Annotated[
        bool, typer.Option("--trec", help="In the format of TREC, the default.")
    ] = True,
    output: Annotated[Path, typer.Option(help="Folder of the files.")] = Path("results/trec"),
    depth: Annotated[
        int, typer.Option(min=1, help="Number of documents listed for each query.")
    ] = 1000,
) -> None:
    """Write the rankings of a run as run and qrels files of TREC, for ir-measures and ranx.

    Metrics over the whole gallery, such as mAP, need a depth of all its documents.
    """
    from crossmodal.commands.export import export as run_export

    run_export(run, output, depth)


@app.command(
    rich_help_panel=RESULTS,
    short_help="Compare two runs on their test items",
    epilog="Example: crossmodal compare scenes_sam scenes_cca",
)
def compare(
    first: RunName,
    second: RunName,
    as_json: Json = False,
    page: Annotated[
        Path | None, typer.Option(help="HTML page of the queries that flip, to be written.")
    ] = None,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Compare two runs on their test items: differences, intervals, p, and queries that flip.

    Intervals are by a paired bootstrap, p by a paired permutation of test items. An experiment
    stands for the seeds that the other one has, too. A query flips where its average precision, or
    else its recall@10, is above a half in one run alone.
    """
    from crossmodal.commands.compare import compare as run

    run(first, second, as_json, page, params, configfile)
