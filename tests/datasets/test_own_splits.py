import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image, ImageDraw

from crossmodal.datasets._duplicates import Looks
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


def test_no_item_for_training_is_refused(failure):
    write([[*row[:-1], "test"] for row in ROWS])
    assert "items.csv: no item for split 'train'" in failure(run)


def test_another_csv_has_all_items_for_testing(failure):
    many(12)
    Path("mine/items.csv").rename("mine/tested.csv")
    write(ROWS)
    message = failure(run, test_csv="mine/tested.csv")
    assert "mine/items.csv: row 5, column 'split': item 'cat' is for testing, but" in message
    assert "leave out its rows, or `test_csv`" in message


def stated_in_part(names):
    """30 items of which every third is for testing, or what else is named."""
    many(30)
    rows = Path("mine/items.csv").read_text().splitlines()
    splits = ["split", *(names[number % len(names)] for number in range(30))]
    lines = [f"{row},{split}" for row, split in zip(rows, splits, strict=True)]
    Path("mine/items.csv").write_text("\n".join(lines))
    return dict(line.split(",")[:: len(line.split(",")) - 1] for line in lines[1:])


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (["train", "train", "test"], {"train": 16, "validation": 4, "test": 10}),
        (["train", "validation"], {"train": 14, "validation": 15, "test": 1}),
        (["train"], {"train": 21, "validation": 6, "test": 3}),
    ],
)
def test_a_split_that_is_not_stated_is_drawn_from_training(names, sizes):
    stated = stated_in_part(names)
    splits = run().splits
    assert Counter(splits.values()) == sizes
    assert {*zip(stated.values(), splits.values(), strict=True)} >= {("train", "train")}
    assert all(splits[id] == split for id, split in stated.items() if split != "train")


@pytest.mark.parametrize("duplicates", ["refuse", "warn"])
@pytest.mark.parametrize(
    "names", [["train", "test"], ["train"], ["train", "validation", "test"], []]
)
def test_pictures_are_compared_once(names, duplicates, monkeypatch):
    compared, pairs = [], Looks.pairs
    monkeypatch.setattr(Looks, "pairs", lambda looks: compared.append(looks) or pairs(looks))
    stated_in_part(names) if names else many(30)
    run(duplicates=duplicates)
    assert len(compared) == 1


def drawings(count, groups):
    """Line drawings, which are nearly equal within a group."""
    many(count)
    for number in range(count):
        image = Image.new("L", (64, 64), "white")
        corners = np.random.default_rng(number % groups).integers(64, size=(5, 2))
        ImageDraw.Draw(image).line([tuple(corner) for corner in corners.tolist()], width=3)
        image.putpixel((number, 0), 255 - image.getpixel((number, 0)))
        image.save(f"mine/photos/{number}.png")


def test_groups_that_leave_a_split_empty_are_named(failure):
    drawings(40, groups=4)
    found = failure(run)
    assert "mine/items.csv: no item of 40 for split 'validation': items that are equal or" in found
    assert "most are equal or nearly equal to 'item0' (10), 'item1' (10)" in found
    assert "set `duplicates: warn` to part those that are only nearly equal, or write a" in found


def test_nearly_equal_items_are_drawn_apart_where_asked():
    drawings(40, groups=4)
    with pytest.warns(UserWarning, match="is equal or nearly equal to 'item"):
        dataset = run(duplicates="warn")
    assert Counter(dataset.splits.values()) == {"train": 28, "validation": 8, "test": 4}
    (remark,) = dataset.remarks
    assert remark == "has 40 items that are equal or nearly equal to items of another split"


def test_a_draw_without_nearness_is_that_of_different_items():
    drawings(40, groups=4)
    with pytest.warns(UserWarning, match="nearly equal"):
        drawn = run(duplicates="warn").splits
    many(40)
    assert run().splits == drawn


def test_equal_items_stay_together_in_any_draw():
    many(20)
    for number in range(0, 20, 2):
        copy = Path(f"mine/photos/{number}.png").read_bytes()
        Path(f"mine/photos/{number + 1}.png").write_bytes(copy)
    with pytest.warns(UserWarning, match="20 items are equal to others and stay in their split"):
        splits = run(duplicates="warn").splits
    assert all(splits[f"item{k}"] == splits[f"item{k + 1}"] for k in range(0, 20, 2))


def test_one_picture_for_all_needs_splits_of_ones_own(failure):
    many(20)
    for number in range(1, 20):
        Path(f"mine/photos/{number}.png").write_bytes(Path("mine/photos/0.png").read_bytes())
    found = failure(run, duplicates="warn")
    assert "items that are equal stay in one split, and most are equal to 'item0' (20)" in found
    assert found.endswith("; write a column `split`")


def test_a_split_far_below_its_share_is_warned_of():
    drawings(40, groups=3)
    for number in range(4):
        picture(number).save(f"mine/photos/{number}.png")
    with pytest.warns(UserWarning, match=r"; so test has 2 of 8 items; most .*'item\d+' \(12\)"):
        splits = run(validation=0.05, test=0.2).splits
    assert Counter(splits.values()) == {"train": 36, "validation": 2, "test": 2}


def test_the_sizes_of_the_splits_are_printed(capsys):
    many(50)
    run()
    printed = capsys.readouterr().out
    assert "mine/items.csv: 35 train items, 10 validation items, 5 test items" in printed


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_items_than_splits_are_too_few(failure, count):
    many(count)
    found = failure(run)
    assert f"no item of {count} for split 't" in found
    assert "they are too few; add some" in found


def test_an_id_of_both_csvs_is_refused_with_the_other_csv(failure):
    many(12)
    shutil.copy("mine/items.csv", "mine/tested.csv")
    message = failure(run, test_csv="mine/tested.csv")
    where = "mine/tested.csv: row 2, column 'id'"
    assert f"{where}: 'item0' is an item of mine/items.csv, too" in message
