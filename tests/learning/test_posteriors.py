import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Method, Run
from crossmodal.learning.posteriors import Posteriors
from crossmodal.learning.selection import selection_score


class AsTheyAre(Method):
    """Embeds rows as they are."""

    task = "category"

    def fit(self, train, validation, run):
        pass

    def embed(self, modality, view):
        return view.features


@pytest.fixture
def split(make_split, rng):
    """Four noisy classes that both modalities show in the same place."""

    def make(noise=0.3, count=120):
        labels = np.eye(4, dtype=bool)[rng.integers(0, 4, count)]
        rows = {m: labels + noise * rng.standard_normal((count, 4)) for m in ("image", "text")}
        return make_split(rows, labels)

    return make


def fitted(train, validation):
    found = Posteriors(AsTheyAre())
    found.fit(train, validation, Run(0))
    return found


def test_the_score_is_the_probability_of_the_same_class(split):
    train, validation, test = (split() for _ in range(3))
    found = fitted(train, validation)
    posteriors = {m: found.embed(m, view) for m, view in test.views.items()}
    for rows in posteriors.values():
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        assert np.mean(rows.argmax(axis=1) == test.labels.argmax(axis=1)) > 0.9
    scores = found.score(posteriors["image"], posteriors["text"], ("image", "text"))
    expected = sum(np.outer(posteriors["image"][:, c], posteriors["text"][:, c]) for c in range(4))
    np.testing.assert_allclose(scores, expected)


def test_one_classifier_serves_both_modalities_at_any_scale(split):
    train, test = split(), split()
    found = fitted(train, train).embed("text", test.views["text"])
    for data in (train, test):
        data.views["text"].features[:] = 100 * data.views["text"].features - 7
    again = fitted(train, train)
    np.testing.assert_allclose(again.embed("text", test.views["text"]), found, atol=1e-6)


def test_the_penalty_is_chosen_on_the_validation_split(split, monkeypatch):
    train, validation = split(2.0), split(2.0)
    scores = {}
    for strength in (1e-4, 1.0):
        monkeypatch.setattr("crossmodal.learning.posteriors.STRENGTHS", (strength,))
        scores[strength] = selection_score(fitted(train, validation), validation)
    assert len(set(scores.values())) == 2
    best = max(scores, key=scores.get)
    for strengths in ((1e-4, 1.0), (1.0, 1e-4)):
        monkeypatch.setattr("crossmodal.learning.posteriors.STRENGTHS", strengths)
        assert best == fitted(train, validation).classifier.C


def test_an_item_counts_for_each_of_its_labels_with_equal_shares(make_split):
    rows = np.ones((6, 2))
    labels = np.array([[1, 1, 0]] * 3 + [[0, 0, 1]] * 3)
    split = make_split({"image": rows, "text": rows}, labels)
    found = fitted(split, split).embed("image", split.views["image"])
    np.testing.assert_allclose(found, [[0.25, 0.25, 0.5]] * 6, atol=1e-3)


def test_a_split_without_labels_is_refused(make_split, rng):
    rows = rng.standard_normal((6, 2))
    split = make_split({"image": rows, "text": rows}, np.zeros((6, 2)))
    with pytest.raises(CrossmodalError, match="label"):
        fitted(split, split)


def test_embeddings_that_are_no_vectors_are_refused(make_split, rng):
    rows = rng.standard_normal((6, 3, 2))
    split = make_split({"image": rows, "text": rows}, np.eye(6))
    with pytest.raises(CrossmodalError, match=r"\(3, 2\).*readout"):
        fitted(split, split)
