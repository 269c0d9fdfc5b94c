import numpy as np
import pytest

from crossmodal.data.split import Split, View
from crossmodal.learning.method import Method
from crossmodal.learning.selection import directions, pools, selection_score
from crossmodal.metrics.retrieval import Pool, evaluate

ITEMS, CAPTIONS = 12, 2


class Toy(Method):
    """Takes features as embeddings; scores depend on the direction."""

    def __init__(self, task):
        self.task = task

    def fit(self, train, validation, run):
        """Nothing to learn."""

    def embed(self, modality, view):
        return view.features

    @staticmethod
    def score(queries, gallery, direction):
        """Nearest first from image to text, farthest first from text to image."""
        squared = ((queries[:, None] - gallery) ** 2).sum(axis=2)
        return -squared if direction == ("image", "text") else squared


@pytest.fixture
def split(rng):
    owners = {"image": np.arange(ITEMS), "text": np.arange(ITEMS).repeat(CAPTIONS)}
    owners["speech"] = owners["text"]
    views = {}
    for modality, items in owners.items():
        features = np.eye(ITEMS)[items] + rng.standard_normal((len(items), ITEMS))
        views[modality] = View(features, items, [str(row) for row in range(len(items))], {})
    labels = np.eye(3, dtype=bool)[np.arange(ITEMS) % 3]
    return Split([str(item) for item in range(ITEMS)], labels, views)


def without_labels(split):
    return Split(split.items, np.zeros((ITEMS, 0), bool), split.views)


def direct_metrics(split, labelled=True):
    """Metrics of both directions, from pools made here."""
    made = {
        modality: Pool(
            split.views[modality].features,
            split.views[modality].items,
            split.labels[split.views[modality].items] if labelled else None,
        )
        for modality in ("image", "text")
    }
    return [
        evaluate(made[q], made[g], lambda x, y, pair=(q, g): Toy.score(x, y, pair))
        for q, g in (("image", "text"), ("text", "image"))
    ]


def test_only_the_first_two_views_are_retrieved():
    both = [("text", "speech"), ("speech", "text")]
    assert directions(["text", "speech", "image"]) == both
    assert directions(["text", "speech"]) == both


def test_a_pool_has_the_embeddings_items_and_labels_of_its_view(split):
    found = pools(Toy("category"), split)
    assert list(found) == ["image", "text"]
    for modality, pool in found.items():
        view = split.views[modality]
        np.testing.assert_array_equal(pool.embeddings, view.features)
        np.testing.assert_array_equal(pool.items, view.items)
        np.testing.assert_array_equal(pool.labels, split.labels[view.items])


def test_a_pool_of_a_dataset_without_labels_has_none(split):
    found = pools(Toy("instance"), without_labels(split))
    assert [pool.labels for pool in found.values()] == [None, None]


def test_category_methods_are_chosen_by_mean_map(split):
    first, second = direct_metrics(split)
    assert first["mAP"] != pytest.approx(second["mAP"], abs=0.05)
    expected = (first["mAP"] + second["mAP"]) / 2
    assert selection_score(Toy("category"), split) == pytest.approx(expected)


@pytest.mark.parametrize("labelled", [True, False])
def test_an_instance_method_is_chosen_by_the_sum_of_recalls(split, labelled):
    metrics = direct_metrics(split, labelled)
    expected = sum(m[f"R@{k}"] for m in metrics for k in (1, 5, 10))
    given = split if labelled else without_labels(split)
    assert selection_score(Toy("instance"), given) == pytest.approx(expected)


def test_unlabelled_methods_are_chosen_by_summed_recalls(split):
    given = without_labels(split)
    by_recall = selection_score(Toy("instance"), given)
    assert selection_score(Toy("category"), given) == by_recall
