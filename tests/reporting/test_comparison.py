"""A comparison of two evaluations has the statistics of one of two runs."""

import numpy as np
import pytest
from scipy import stats

import crossmodal
from crossmodal.config.workflow_files import params_file
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.comparison import compare
from crossmodal.reporting.query_values import QueryValues, write_query_values


@pytest.fixture
def evaluations(rng):
    """Two evaluations of 40 queries, the first one better."""
    images = rng.standard_normal((40, 6))
    texts = [images + noise * rng.standard_normal(images.shape) for noise in (0.5, 1.5)]
    return [crossmodal.evaluate(of, images) for of in texts]


def test_the_package_has_compare_by_name():
    assert crossmodal.compare is compare


def test_differences_of_evaluations_are_those_of_their_metrics(evaluations):
    first, second = evaluations
    found = compare(first, second)
    lines = {line.metric: line for line in found.numbers}
    assert {line.direction for line in found.numbers} == {"queries-to-gallery"}
    assert {"mAP", "R@1", "MRR", "nDCG@10", "MeanR"} <= {*lines}
    for name, line in lines.items():
        assert line.first == pytest.approx(first.metrics[name])
        assert line.difference == pytest.approx(first.metrics[name] - second.metrics[name])
        assert line.low <= line.difference <= line.high


def test_p_of_evaluations_is_that_of_a_paired_permutation(evaluations):
    first, second = (of.per_query["R@1"] for of in evaluations)
    line = next(n for n in compare(*evaluations).numbers if n.metric == "R@1")
    changed = int((first != second).sum())
    better = int((first > second).sum())
    expected = stats.binomtest(better, changed).pvalue  # the sign test, since values are 0 or 100
    assert line.p == pytest.approx(expected, abs=0.02)


def test_queries_that_flip_between_evaluations_are_rows(evaluations):
    first, second = (of.per_query["mAP"] > 0.5 for of in evaluations)
    (flips,) = compare(*evaluations).flips.values()
    assert flips.metric == "mAP"
    assert flips.first == [str(row) for row in np.flatnonzero(first & ~second)]
    assert flips.second == [str(row) for row in np.flatnonzero(second & ~first)]


def test_queries_of_one_item_are_permuted_together(rng):
    """With one item there is one permutation and its opposite: nothing is significant."""
    scores = np.eye(4)
    found = [crossmodal.evaluate(of, items=["a"] * 4) for of in (scores, scores[::-1])]
    assert all(line.p == 1 for line in compare(*found).numbers)


def test_evaluations_of_other_queries_are_refused(evaluations):
    other = crossmodal.evaluate(np.eye(3))
    with pytest.raises(CrossmodalError, match="have other test queries"):
        compare(evaluations[0], other)


def write_run(name, hit):
    measured = {f"R@{k}": np.array(hit, float) for k in (1, 5, 10)}
    queries = QueryValues(np.array([*"abcdefgh"]), np.arange(8), measured)
    write_query_values(name, dict.fromkeys(("a-to-b", "b-to-a"), queries))


def test_a_run_is_named_or_is_the_path_of_its_metrics(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [tmp_path / f"results/runs/{name}/seed0.npz" for name in ("one", "two")]
    for path, hit in zip(paths, ([1] * 8, [1, 0] * 4), strict=True):
        write_run(path, hit)
    named = compare("one", "two/seed0")
    assert named == compare(paths[0].with_suffix(".json"), str(paths[1]))
    assert str(named).splitlines()[0].startswith("a-to-b               R@1          +50 ")


def test_params_and_what_is_laid_over_it_may_be_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        write_run(tmp_path / f"results/runs/{name}/seed0.npz", [1] * 8)
    (tmp_path / "more.yaml").write_text("seeds: 2\n")
    compare("one", "two", params=str(params_file()), overlays="more.yaml")
    with pytest.raises(CrossmodalError, match="absent"):
        compare("one", "two", overlays="absent.yaml")


def test_runs_without_a_shared_seed_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one/seed0", "two/seed1"):
        write_run(tmp_path / f"results/runs/{name}.npz", [1] * 8)
    with pytest.raises(CrossmodalError, match="one and two share no seed"):
        compare("one", "two")


def test_all_numbers_are_of_the_shared_seeds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, hit in (("one/seed0", [1] * 8), ("one/seed1", [0] * 8), ("two/seed0", [1] * 8)):
        write_run(tmp_path / f"results/runs/{name}.npz", hit)
    compared = compare("one", "two")
    line = compared.numbers[0]
    assert (line.first, line.second, line.difference, line.p) == (100, 100, 0, 1)
    assert not compared.flips["a-to-b"].second


def test_evaluations_of_other_items_are_refused():
    one, two = (crossmodal.evaluate(np.eye(4), items=items) for items in ([0, 0, 1, 1], None))
    with pytest.raises(CrossmodalError, match="have other test queries"):
        compare(one, two)
