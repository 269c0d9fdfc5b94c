from collections import Counter

import pytest

from crossmodal.data.changes import Changes
from crossmodal.data.prepared import Item
from crossmodal.errors import CrossmodalError

CLASSES = ("bird", "cat", "dog", "fish")
EACH = 50
ITEMS = [Item(f"{name}{number}", name, (name,), "") for number in range(EACH) for name in CLASSES]


def changed(split="train", items=ITEMS, **changes):
    return Changes(**changes).apply(items, split)


def categories(items):
    return {item.id: item.category for item in items}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_only_named_classes_are_kept_in_all_splits(split):
    found = changed(split, classes=["dog", "bird"])
    assert found == [item for item in ITEMS if item.category in ("dog", "bird")]


def test_classes_of_a_training_split_shrink_in_a_geometric_row():
    found = changed(imbalance=8.0)
    counts = Counter(item.category for item in found)
    assert [counts[name] for name in CLASSES] == [50, 25, round(50 / 4), round(50 / 8)]
    assert [item for item in ITEMS if item in found] == found


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_that_share_of_the_training_items_gets_another_category(share):
    found = changed(wrong_labels=share)
    before, after = categories(ITEMS), categories(found)
    assert list(before) == list(after)
    wrong = [id for id in before if before[id] != after[id]]
    assert len(wrong) == round(share * len(ITEMS))
    assert {after[id] for id in wrong} == set(CLASSES)
    assert all(item.labels == (item.category,) for item in found)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_other_splits_keep_all_items_and_their_categories(split):
    assert changed(split, wrong_labels=0.3, imbalance=8.0) == ITEMS


def test_wrong_labels_are_of_the_classes_that_are_kept():
    found = changed(classes=["cat", "dog"], wrong_labels=1.0)
    expected = {"cat": "dog", "dog": "cat"}
    assert all(item.category == expected[item.id.rstrip("0123456789")] for item in found)


def test_the_seed_determines_what_is_drawn():
    found = [changed(wrong_labels=0.3, imbalance=4.0, seed=seed) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(("items", "left"), [([Item("a", "", (), "")], 0), (ITEMS[::4], 1)])
def test_fewer_than_two_classes_are_refused(items, left):
    with pytest.raises(CrossmodalError, match=f"{left} categories"):
        changed(items=items, wrong_labels=0.1)


def test_a_class_that_there_is_not_is_refused():
    with pytest.raises(CrossmodalError, match=r"changes\.classes.*'test'.*'hen'"):
        changed("test", classes=["hen"])
