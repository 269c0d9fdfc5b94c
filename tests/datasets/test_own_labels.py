from pathlib import Path

import pytest

from crossmodal.datasets._own_labels import places


def said(*names):
    """Label and split of each file."""
    return [(place.label, place.split) for place in places([*map(Path, names)]).values()]


def test_sub_folders_are_labels_and_one_folder_is_none():
    assert said("sea/a.jpg", "alps/b.jpg", "c.jpg") == [("sea", ""), ("alps", ""), ("", "")]
    assert said("photos/a.jpg", "photos/b.jpg") == [("", "")] * 2


@pytest.mark.parametrize(
    "train", ["train", "Training", "TRAIN", "train2014", "train_set", " train"]
)
@pytest.mark.parametrize("test", ["test", "Testing", "test-images"])
@pytest.mark.parametrize("validation", ["val", "valid", "Validation", "dev", "val2017"])
def test_folders_of_splits_are_splits_and_no_labels(train, test, validation):
    names = [f"{folder}/a.jpg" for folder in (train, validation, test)]
    assert said(*names) == [("", "train"), ("", "validation"), ("", "test")]
    assert said(*(f"data/v2/{name}" for name in names)) == said(*names)


def test_labels_are_below_or_above_the_splits():
    expected = [("sea", "train"), ("alps", "train"), ("sea", "test")]
    assert said("train/sea/a.jpg", "train/alps/b.jpg", "test/sea/c.jpg") == expected
    assert said("sea/train/a.jpg", "alps/train/b.jpg", "sea/test/c.jpg") == expected
    assert said("x/train/sea/a.jpg", "x/train/alps/b.jpg", "x/test/sea/c.jpg") == expected


def test_trains_may_be_a_label():
    expected = [("train", ""), ("bus", ""), ("car", "")]
    assert said("train/a.jpg", "bus/b.jpg", "car/c.jpg") == expected
    expected = [("train", "train"), ("bus", "train"), ("train", "test")]
    assert said("train/train/a.jpg", "train/bus/a.jpg", "test/train/a.jpg") == expected


@pytest.mark.parametrize("folder", ["train", "test", "VAL"])
def test_one_split_of_all_says_nothing(folder):
    names = (f"{folder}/sea/a.jpg", f"{folder}/alps/b.jpg")
    assert said(*names) == [("sea", ""), ("alps", "")]


def test_items_in_no_split_train_only_without_split_folders():
    assert said("sea/a.jpg", "b.jpg", "test/sea/c.jpg") == [
        ("sea", "train"),
        ("", "train"),
        ("sea", "test"),
    ]
    found = said("train/a.jpg", "test/b.jpg", "c.jpg")
    assert [split for _, split in found] == ["train", "test", ""]


def test_labels_have_one_unicode_form_and_no_separator():
    found = said("cafe\u0301/a.jpg", "caf\u00e9/b.jpg", "x;y/c.jpg", " z /d.jpg")
    assert [label for label, _ in found] == ["caf\u00e9", "caf\u00e9", "x,y", "z"]
