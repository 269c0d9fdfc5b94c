"""A paired comparison of two runs, or of two evaluations, on the same queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from crossmodal.config.params import Params, read
from crossmodal.config.published_numbers import Place
from crossmodal.config.workflow_files import params_file
from crossmodal.errors import CrossmodalError
from crossmodal.metrics.evaluation import Evaluation
from crossmodal.reporting.estimates import Estimate, difference
from crossmodal.reporting.flips import Flips, Seeds, find_flips
from crossmodal.reporting.item_draws import item_draws, of_both
from crossmodal.reporting.query_values import SUFFIX, QueryValues, read_query_values
from crossmodal.reporting.run_files import METRICS, run_files

PERMUTATIONS = 9999
DIRECTION = "queries-to-gallery"  # of an evaluation
Run = str | Path | Evaluation


@dataclass(frozen=True)
class Line:
    """A number of both runs.

    Args:
        direction: '<query>-to-<gallery>', 'average' or 'both'.
        metric: Its name, as in tables.
        first: Mean over the seeds of the first run that the second one has, too.
        second: Mean over the same seeds of the second run.
        difference: First minus second.
        low: Lower end of its 95 % interval, over test items and seeds.
        high: Upper end.
        p: Two-sided p of a paired permutation test of this difference over test items.
    """

    direction: str
    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Comparison:
    """Differences of two runs, and the queries that they answer differently.

    Args:
        numbers: Each number of both.
        flips: By direction, the queries whose average precision, or else recall@10, is above a half
            in one run alone.
    """

    numbers: list[Line]
    flips: dict[str, Flips]

    def __str__(self) -> str:
        """Return a line for each number: difference, interval and p."""
        return "\n".join(
            f"{line.direction:<20} {line.metric:<12} {line.difference:+.4g}  "
            f"{line.low:+.4g} to {line.high:+.4g}  p {line.p:.4f}"
            for line in self.numbers
        )


def compare(
    first: Run,
    second: Run,
    *,
    params: str | Path | None = None,
    overlays: str | Path | Sequence[str | Path] = (),
) -> Comparison:
    """Compare two runs, or two evaluations, on the same queries.

    Intervals are by a paired bootstrap over test items, p by a paired permutation of them.

    Args:
        first: `<experiment>/seed<n>`, or `<experiment>` for all its seeds; the path of a run's
            metrics, `results/runs/<experiment>/seed<n>.json`; or what `crossmodal.evaluate`
            returned.
        second: Another one.
        params: The project's params.yaml, which says what is random; by default that of the working
            folder.
        overlays: Files laid over it; one path, or several.

    Returns:
        All numbers, first minus second; queries of evaluations are named by their rows.

    Raises:
        CrossmodalError: If a run is missing, they share no seed, or queries differ.

    Example:
        >>> import numpy as np
        >>> from crossmodal import compare, evaluate
        >>> scores = np.eye(4)  # each query finds its own document
        >>> found = compare(evaluate(scores), evaluate(np.roll(scores, 1, axis=1)))
        >>> line = next(line for line in found.numbers if line.metric == "R@1")
        >>> line.first, line.second, line.p
        (100.0, 0.0, 0.125)
        >>> found.flips["queries-to-gallery"].first
        ['0', '1', '2', '3']
    """
    runs, names = [_values(run) for run in (first, second)], [_named(r) for r in (first, second)]
    _check(names, runs)
    project = None
    if not all(isinstance(run, Evaluation) for run in (first, second)):
        given = [overlays] if isinstance(overlays, str | Path) else overlays
        project = read(Path(params or params_file()), *map(Path, given))
    fixed = [_holds(Params.is_deterministic, project, name) for name in names]
    runs = runs if any(fixed) else _on_shared_seeds(names, runs)
    numbers = _lines(runs, fixed)
    return Comparison(numbers, find_flips(runs, _flipping(names, numbers, project)))


def _values(run: Run) -> Seeds:
    if isinstance(run, Evaluation):
        ids = np.arange(len(run.items)).astype(str)
        return {0: {DIRECTION: _Evaluated(ids, run.items, run.per_query)}}
    path = Path(run)
    if path.suffix in (".json", SUFFIX):
        return {0: read_query_values(path.with_suffix(SUFFIX))}
    return {n: read_query_values(path) for n, path in run_files(str(run), METRICS).items()}


@dataclass(frozen=True)
class _Evaluated(QueryValues):
    """Values of an evaluation's queries, which have the names and units of their means."""

    def metrics(self) -> dict[str, np.ndarray]:
        """Return those that are finite: a query without a relevant document has no rank."""
        return {name: of for name, of in self.values.items() if np.isfinite(of).all()}


def _named(run: Run) -> str:
    """Return the name of a run, for messages and for its experiment."""
    if isinstance(run, Evaluation):
        return "an evaluation"
    path = Path(run)
    is_file = path.suffix in (".json", SUFFIX)
    return f"{path.parent.name}/{path.stem}" if is_file else str(run)


def _check(names: Sequence[str], runs: Sequence[Seeds]) -> None:
    first, *others = (values for seeds in runs for values in seeds.values())
    for values in others:
        same = values.keys() == first.keys() and all(
            np.array_equal(values[d].ids, first[d].ids)
            and np.array_equal(values[d].items, first[d].items)
            for d in first
        )
        if not same:
            raise CrossmodalError(
                f"{' and '.join(names)} have other test queries; compare runs on one dataset, with "
                "views of one kind"
            )


def _on_shared_seeds(names: Sequence[str], runs: Sequence[Seeds]) -> list[Seeds]:
    shared = [seed for seed in runs[0] if seed in runs[1]]
    if not shared:
        raise CrossmodalError(f"{' and '.join(names)} share no seed; run both with the same ones")
    return [{seed: seeds[seed] for seed in shared} for seeds in runs]


def _lines(runs: Sequence[Seeds], fixed: Sequence[bool]) -> list[Line]:
    """Return each number of both runs, and of both directions together."""
    keys = {(i, seed): values for i, seeds in enumerate(runs) for seed, values in seeds.items()}
    drawn = item_draws(keys)
    shares = {key: _shares(values) for key, values in keys.items()}
    own, other = (shares[i, next(iter(seeds))] for i, seeds in enumerate(runs))
    lines = []
    for place in [place for place in own if place in other]:
        both = [
            Estimate(
                {seed: shares[i, seed][place].sum() for seed in seeds},
                {seed: drawn[i, seed][place] for seed in seeds},
                fixed[i],
            )
            for i, seeds in enumerate(runs)
        ]
        measured = difference(*both)
        low, high = measured.interval() or (measured.value, measured.value)
        first, second = (
            np.mean([shares[i, seed][place] for seed in seeds], axis=0)
            for i, seeds in enumerate(runs)
        )
        p = _permuted(first - second)
        means = float(first.sum()), float(second.sum())
        lines.append(Line(*place, *means, float(measured.value), low, high, p))
    return lines


def _flipping(names: Sequence[str], lines: list[Line], params: Params | None) -> str:
    """Return the metric that tells whether a query is answered."""
    by_label = all(_holds(_is_of_categories, params, name) for name in names)
    return "mAP" if by_label and lines[0].metric == "mAP" else "R@10"


def _holds(of: Callable[[Params, str], bool], params: Params | None, name: str) -> bool:
    """Return whether something holds of a run's experiment; it does of evaluations."""
    experiment = name.partition("/")[0]
    return params is None or (experiment in params.experiments and of(params, experiment))


def _is_of_categories(params: Params, experiment: str) -> bool:
    return params.facts_of(experiment).task == "category"


def _shares(directions: dict[str, QueryValues]) -> dict[Place, np.ndarray]:
    """Return what each test item adds to each number, (n,)."""
    items = np.unique(np.concatenate([q.items for q in directions.values()]))
    shares = {
        (d, metric): np.bincount(np.searchsorted(items, q.items), values, len(items)) / len(values)
        for d, q in directions.items()
        for metric, values in q.metrics().items()
    }
    return shares | of_both(shares, [*directions])


def _permuted(shares: np.ndarray) -> float:
    """Return p of a sum as large, if either run may have had each item's share."""
    if len(shares) == 1 or not shares.any():  # one item has one order and its opposite
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
