"""A paired comparison of two runs: differences, and the queries that they answer differently."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from crossmodal.commands.why import provenance_of
from crossmodal.config.params import Params, read
from crossmodal.config.published_numbers import Place
from crossmodal.data.prepared import PREPARED, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_text
from crossmodal.io.relative_names import inside
from crossmodal.io.text_table import print_table
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting.estimates import Estimate, difference
from crossmodal.reporting.example_page import RULES, to_page
from crossmodal.reporting.flips import Flips, Seeds, find_flips, to_parts
from crossmodal.reporting.html import Showing
from crossmodal.reporting.item_draws import item_draws, of_both
from crossmodal.reporting.query_values import QueryValues, read_query_values
from crossmodal.reporting.rows import with_decimals
from crossmodal.reporting.run_files import EMBEDDINGS, METRICS, run_files

PERMUTATIONS = 9999


@dataclass(frozen=True)
class Line:
    """A number of both runs.

    Args:
        first: Mean over the seeds of the first run.
        second: Mean over those of the second.
        difference: First minus second, on the seeds that both have.
        low: Lower end of its 95 % interval, over test items and seeds.
        high: Upper end.
        p: Two-sided p of a paired permutation test over test items.
    """

    direction: str
    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


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
    runs = [
        {seed: read_query_values(path) for seed, path in run_files(name, METRICS).items()}
        for name in names
    ]
    _check(names, runs)
    project = read(params, *overlays)
    lines = _lines(names, runs, project)
    by_label = all(_is_of_categories(project, name) for name in names)
    flips = find_flips(runs, "mAP" if by_label and lines[0].metric == "mAP" else "R@10")
    if as_json:
        named = {direction: asdict(own) for direction, own in flips.items()}
        print(json.dumps({"numbers": [*map(asdict, lines)], "flips": named}, indent=2))
    else:
        _print(names, lines, flips)
    if page:
        write_text(page, _page(names, runs, flips))


def _check(names: tuple[str, str], runs: list[Seeds]) -> None:
    first, *others = (values for seeds in runs for values in seeds.values())
    for values in others:
        same = values.keys() == first.keys() and all(
            np.array_equal(values[d].ids, first[d].ids) for d in first
        )
        if not same:
            raise CrossmodalError(
                f"{' and '.join(names)} have other test queries; compare runs on one dataset, with "
                "views of one kind"
            )


def _lines(names: tuple[str, str], runs: list[Seeds], params: Params) -> list[Line]:
    """Return each number of both runs, and of both directions together."""
    keys = {(i, seed): values for i, seeds in enumerate(runs) for seed, values in seeds.items()}
    drawn = item_draws(keys)
    by_run = {key: _shares(values) for key, values in keys.items()}
    shares = [_mean([by_run[i, seed] for seed in seeds]) for i, seeds in enumerate(runs)]
    lines = []
    for place in shares[0]:
        both = [
            Estimate(
                {seed: by_run[i, seed][place].sum() for seed in seeds},
                {seed: drawn[i, seed][place] for seed in seeds},
                _deterministic(params, name),
            )
            for i, (name, seeds) in enumerate(zip(names, runs, strict=True))
        ]
        measured = difference(*both)
        low, high = measured.interval() or (measured.value, measured.value)
        first, second = (float(np.mean([*estimate.by_seed.values()])) for estimate in both)
        p = _permuted(shares[0][place] - shares[1][place])
        lines.append(Line(*place, first, second, measured.value, low, high, p))
    return lines


def _deterministic(params: Params, name: str) -> bool:
    experiment = name.partition("/")[0]
    return experiment in params.experiments and params.is_deterministic(experiment)


def _is_of_categories(params: Params, name: str) -> bool:
    experiment = name.partition("/")[0]
    return experiment in params.experiments and params.task_of(experiment) == "category"


def _shares(directions: dict[str, QueryValues]) -> dict[Place, np.ndarray]:
    """Return what each test item adds to each number, (n,)."""
    items = np.unique(np.concatenate([q.items for q in directions.values()]))
    shares = {
        (d, metric): np.bincount(np.searchsorted(items, q.items), values, len(items)) / len(values)
        for d, q in directions.items()
        for metric, values in q.metrics().items()
    }
    return shares | of_both(shares, [*directions])


def _mean(parts: list[dict[Place, np.ndarray]]) -> dict[Place, np.ndarray]:
    return {place: np.mean([part[place] for part in parts], axis=0) for place in parts[0]}


def _permuted(shares: np.ndarray) -> float:
    """Return p of a sum as large, if either run may have had each item's share."""
    if not shares.any():
        return 1.0
    test = stats.permutation_test(
        (shares, np.zeros_like(shares)),
        lambda x, y, axis: (x - y).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def _print(names: tuple[str, str], lines: list[Line], flips: dict[str, Flips]) -> None:
    header = ("direction", "metric", *names, "difference", "95 % interval", "p")
    rows = [
        (
            *(line.direction, line.metric),
            *(with_decimals(line.metric, v) for v in (line.first, line.second)),
            with_decimals(line.metric, line.difference, "+"),
            f"[{', '.join(with_decimals(line.metric, v, '+') for v in (line.low, line.high))}]",
            f"{line.p:.4f}",
        )
        for line in lines
    ]
    print_table(f"{names[0]} minus {names[1]}, on the test items of both", header, rows)
    for direction, own in flips.items():
        counts = f"{len(own.first)} for {names[0]}, {len(own.second)} for {names[1]}"
        print(f"{direction}: queries with {own.metric} above a half in one run alone: {counts}")


def _page(names: tuple[str, str], runs: list[Seeds], flips: dict[str, Flips]) -> str:
    """Return the queries that flip, with the results of a seed of each run."""
    paths = [next(iter(run_files(name, EMBEDDINGS).values())) for name in names]
    models = [read_embeddings(path) for path in paths]
    for path, model, seeds in zip(paths, models, runs, strict=True):
        _check_queries(path, model, next(iter(seeds.values())))
    showing, title = Showing(_dataset(paths[0])), " against ".join(names)
    parts = []
    for pair in models[0].directions():
        parts.append(f"<h2>{' to '.join(pair)}</h2>")
        parts += to_parts(showing, pair, models, names, flips["-to-".join(pair)])
    return to_page(
        title, RULES[models[0].facts["relevance"] if models[0].by_label else "item"], parts
    )


def _check_queries(path: Path, model: Embedded, values: dict[str, QueryValues]) -> None:
    embedded = {"-to-".join(pair): model.ids[pair[0]] for pair in model.directions()}
    if embedded != {direction: queries.ids.tolist() for direction, queries in values.items()}:
        raise CrossmodalError(f"{path}: not of the queries of its metrics; evaluate the run again")


def _dataset(embeddings: Path) -> Prepared:
    """Return the dataset of the project whose test split was embedded."""
    inputs = map(Path, provenance_of(embeddings).inputs)
    name = next((path.parent.name for path in inputs if path.name == "items.csv"), "")
    return Prepared(inside(PREPARED, name, embeddings))
