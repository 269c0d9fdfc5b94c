import json

import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.query_values import QueryValues, read_query_values, write_query_values


@pytest.mark.parametrize("labelled", [True, False])
def test_query_values_average_to_the_metrics(run_toy, labelled):
    run = run_toy(labelled)
    test = json.loads(run.metrics.read_text())["test"]
    embedded = read_embeddings(run.embeddings)
    directions = read_query_values(run.metrics.with_suffix(".npz"))
    assert directions.keys() == {"image-to-text", "text-to-image"}
    for name, queries in directions.items():
        modality = name.split("-to-")[0]
        assert queries.ids.tolist() == embedded.ids[modality]
        assert (queries.items == embedded.splits["test"][modality].items).all()
        means = {metric: values.mean() for metric, values in queries.metrics().items()}
        assert ("mAP" in means) == labelled
        assert means == pytest.approx({metric: test[name][metric] for metric in means})


def test_query_values_of_five_captions_are_compact(rng, tmp_path):
    queries, hit = 5000, rng.random(5000) < 0.5
    values = {f"R@{k}": hit.astype(float) for k in (1, 5, 10)}
    values |= {"rank": rng.integers(1, 1000, queries).astype(float)}
    ids = np.array([f"{item:010d}#{item % 5}" for item in range(queries)])
    path = tmp_path / "seed0.npz"
    both = QueryValues(ids, np.arange(queries) // 5, values)
    write_query_values(path, {"a-to-b": both, "b-to-a": both})
    assert path.stat().st_size < 2 * 50_000
    assert (read_query_values(path)["a-to-b"].values["rank"] == values["rank"]).all()


ROWS = {"ids": np.array(["a", "b"]), "items": np.arange(2), "AP": np.ones(2, np.float32)}


@pytest.mark.parametrize(
    "change",
    [
        {"AP": np.ones(3, np.float32)},
        {"AP": np.array(["1", "2"])},
        {"AP": np.array([1, 2], "M8[s]")},
        {"items": np.array(0)},
        {"items": np.ones(2)},
        {"ids": np.array([{}, {}])},
        dict.fromkeys(ROWS, np.arange(0)),
    ],
    ids=["length", "text", "dates", "scalar", "fractions", "pickles", "none"],
)
def test_query_values_of_another_shape_are_refused(tmp_path, change):
    path = tmp_path / "seed0.npz"
    arrays = {f"{d}/{n}": v for d in ("a-to-b", "b-to-a") for n, v in (ROWS | change).items()}
    np.savez(path, **arrays)
    with pytest.raises(CrossmodalError, match=r"seed0\.npz: corrupt.*delete it"):
        read_query_values(path)


def test_query_values_that_expand_without_end_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "seed0.npz"
    rows = QueryValues(ROWS["ids"], ROWS["items"], {"AP": ROWS["AP"]})
    write_query_values(path, {"a-to-b": rows, "b-to-a": rows})
    monkeypatch.setattr("crossmodal.reporting.query_values.LARGEST", 800)
    with pytest.raises(CrossmodalError, match=r"seed0\.npz: corrupt.*bytes of values"):
        read_query_values(path)


def test_query_values_cut_short_are_refused(run_toy):
    path = run_toy().metrics.with_suffix(".npz")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CrossmodalError, match=r"seed0\.npz: corrupt.*delete it"):
        read_query_values(path)


def test_ranks_without_end_have_no_mean():
    values = {"rank": np.array([1, np.inf]), "RR": np.array([1.0, 0])}
    assert {*QueryValues(np.array(["a", "b"]), np.arange(2), values).metrics()} == {"MRR"}
