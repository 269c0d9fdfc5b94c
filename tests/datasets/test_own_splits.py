from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.datasets.own_data import ROWS, make_folder, many, picture, run, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with a folder of images, recordings and a CSV."""
    monkeypatch.chdir(tmp_path)
    return make_folder()


def test_splits_are_drawn_where_no_column_says():
    many(50)
    splits = run().splits
    assert Counter(splits.values()) == {"train": 35, "validation": 10, "test": 5}
    assert run().splits == splits
    assert run(seed=1).splits != splits


def test_captions_of_one_item_are_in_one_split():
    many(10, captions=3)
    assert Counter(run().splits.values()) == {"train": 7, "validation": 2, "test": 1}


def test_few_items_still_make_three_splits():
    many(3)
    assert Counter(run().splits.values()) == {"train": 1, "validation": 1, "test": 1}


def twins(count, **save):
    """Items 2 k and 2 k + 1 have nearly the same picture: every other one in another format."""
    many(count)
    for number in range(1, count, 2):
        picture(number - 1).resize((40, 40)).save(f"mine/photos/{number}.png", **save)


@pytest.mark.parametrize("seed", range(5))
def test_drawn_splits_keep_equal_items_together(seed):
    twins(20)
    with pytest.warns(UserWarning, match="20 items are equal or nearly equal to others"):
        splits = run(seed=seed).splits
    assert Counter(splits.values()) == {"train": 14, "validation": 4, "test": 2}
    assert all(splits[f"item{k}"] == splits[f"item{k + 1}"] for k in range(0, 20, 2))


def leaking():
    """The dog's picture and the cat's recording come again in other splits."""
    owl = ["owl", "photos/owl.png", "An owl", "speech/owl.flac", "", "test"]
    eel = ["eel", "photos/eel.png", "An eel", "speech/eel.flac", "", "train"]
    picture(0).convert("L").resize((200, 100)).save("mine/photos/owl.png")
    picture(8).save("mine/photos/eel.png")
    soundfile.write("mine/speech/owl.flac", np.full(100, 0.7), 16_000)
    Path("mine/speech/eel.flac").write_bytes(Path("mine/speech/cat.flac").read_bytes())
    write([*ROWS, owl, eel])


def test_equal_items_in_stated_splits_are_refused(failure):
    leaking()
    found = failure(run).splitlines()
    assert len(found) == 2
    assert (
        "row 6, column 'split': 'owl' (test) is equal or nearly equal to 'dog' (train)" in found[0]
    )
    assert (
        "row 7, column 'split': 'eel' (train) is equal or nearly equal to 'cat' (test)" in found[1]
    )


def test_equal_items_in_stated_splits_are_only_named_where_asked(failure):
    leaking()
    with pytest.warns(UserWarning, match=r"(?s)'owl'.*'eel'"):
        splits = run(duplicates="warn").splits
    assert (splits["dog"], splits["owl"]) == ("train", "test")


def test_a_split_without_items_is_named(failure):
    write([*ROWS[:-1], [*ROWS[-1][:-1], "train"]])
    assert "items.csv: no item for split 'test'" in failure(run)
