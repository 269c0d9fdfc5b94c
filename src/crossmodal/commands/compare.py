"""A paired comparison of two runs: differences, and the queries that they answer differently."""

import json
from dataclasses import asdict
from pathlib import Path

from crossmodal.commands.why import provenance_of
from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import PREPARED
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_text
from crossmodal.io.relative_names import inside
from crossmodal.io.text_table import print_table
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting import comparison
from crossmodal.reporting.comparison import Comparison
from crossmodal.reporting.example_page import RULES, to_page
from crossmodal.reporting.examples import retrieve
from crossmodal.reporting.flips import Flips, to_parts
from crossmodal.reporting.html import Showing
from crossmodal.reporting.query_values import QueryValues, read_query_values
from crossmodal.reporting.rows import with_decimals
from crossmodal.reporting.run_files import EMBEDDINGS, METRICS, run_files


def compare(
    first: str, second: str, as_json: bool, page: Path | None, params: Path, overlays: list[Path]
) -> None:
    """Print differences of two runs, and how many queries flip; write these on a page.

    Args:
        first: `<experiment>/seed<n>` or `<experiment>`.
        second: Another run on the same test items.
        as_json: Print JSON instead of tables.
        page: HTML page of queries that flip; None for none.
        params: The project's params.yaml.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If a run is missing, they share no seed, or queries differ.
    """
    names = (first, second)
    result = comparison.compare(first, second, params=params, overlays=overlays)
    if as_json:
        print(json.dumps(asdict(result), indent=2))
    else:
        _print(names, result)
    if page:
        write_text(page, _page(names, result.flips))


def _print(names: tuple[str, str], result: Comparison) -> None:
    header = ("direction", "metric", *names, "difference", "95 % interval", "p")
    rows = [
        (
            *(line.direction, line.metric),
            *(with_decimals(line.metric, v) for v in (line.first, line.second)),
            with_decimals(line.metric, line.difference, "+"),
            f"[{', '.join(with_decimals(line.metric, v, '+') for v in (line.low, line.high))}]",
            f"{line.p:.4f}",
        )
        for line in result.numbers
    ]
    print_table(f"{names[0]} minus {names[1]}, on the test items and seeds of both", header, rows)
    for direction, own in result.flips.items():
        counts = f"{len(own.first)} for {names[0]}, {len(own.second)} for {names[1]}"
        print(f"{direction}: queries with {own.metric} above a half in one run alone: {counts}")


def _page(names: tuple[str, str], flips: dict[str, Flips]) -> str:
    """Return the queries that flip, with the results of a seed of each run."""
    paths = [next(iter(run_files(name, EMBEDDINGS).values())) for name in names]
    models = [read_embeddings(path) for path in paths]
    for name, path, model in zip(names, paths, models, strict=True):
        values = next(iter(run_files(name, METRICS).values()))
        _check_queries(path, model, read_query_values(values))
    showing, title = Showing(_dataset(paths[0])), " against ".join(names)
    parts = []
    for pair in models[0].directions():
        parts.append(f"<h2>{' to '.join(pair)}</h2>")
        retrieved = [retrieve(model, pair) for model in models]
        parts += to_parts(showing, pair, models[0].ids, retrieved, names, flips["-to-".join(pair)])
    return to_page(
        title, RULES[models[0].facts["relevance"] if models[0].by_label else "item"], parts
    )


def _check_queries(path: Path, model: Embedded, values: dict[str, QueryValues]) -> None:
    embedded = {"-to-".join(pair): model.ids[pair[0]] for pair in model.directions()}
    if embedded != {direction: queries.ids.tolist() for direction, queries in values.items()}:
        raise CrossmodalError(f"{path}: not of the queries of its metrics; evaluate the run again")


def _dataset(embeddings: Path) -> PreparedMedia:
    """Return the dataset of the project whose test split was embedded."""
    inputs = map(Path, provenance_of(embeddings).inputs)
    name = next((path.parent.name for path in inputs if path.name == "items.csv"), "")
    return PreparedMedia(inside(PREPARED, name, embeddings))
