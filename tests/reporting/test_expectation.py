"""What a searcher of a model of few pairs is told."""

from pathlib import Path

import numpy as np
import pytest

from crossmodal.reporting.expectation import FEW, RESULTS, expectation
from crossmodal.reporting.query_values import QueryValues, write_query_values


@pytest.mark.parametrize("pairs", [None, FEW])
def test_enough_pairs_without_a_sentence(pairs):
    assert expectation("toy/seed0", pairs) == ""


def test_pairs_alone_without_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert expectation("toy/seed0", FEW - 1) == "fitted on 499 pairs, which teach little"


def test_recall_with_interval_of_each_direction(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids, items = np.array([f"i{n}" for n in range(100)]), np.arange(100)
    found = np.arange(100) < 30
    directions = {
        "text-to-image": QueryValues(ids, items, {"R@10": found}),
        "image-to-text": QueryValues(ids, items, {"R@10": np.ones(100)}),
    }
    path = RESULTS / "toy/seed0.npz"
    path.parent.mkdir(parents=True)
    write_query_values(Path(path), directions)
    sentence = expectation("toy/seed0", 40)
    assert sentence.startswith("fitted on 40 pairs")
    # a bootstrap of 100 values has the binomial's error, 4.6 points
    assert "by text, a relevant image is among the first ten in 30 %" in sentence
    low, high = sentence.split("(")[1].split(" %")[0].split(" to ")
    assert abs(int(low) - 21) <= 1
    assert abs(int(high) - 39) <= 1
    assert "in 100 % of searches of the test items (100 to 100 %)" in sentence
