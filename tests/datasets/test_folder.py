import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.prepared import Prepared
from crossmodal.steps.prepare import prepare

OPTIONS = {"csv": "mine/items.csv", "validation": 0.2, "test": 0.1, "seed": 0}
HEADER = ["id", "image", "text", "audio", "labels", "split"]
ROWS = [
    ["dog", "photos/dog.png", "A dog runs, fast.", "speech/dog.flac", "animal; grass", "train"],
    ["dog", "", "The brown dog.", "", "", ""],
    ["sea", "photos/sea.png", "The sea", "speech/sea.flac", "", "validation"],
    ["cat", "photos/cat.png", "A cat", "speech/cat.flac", "animal", "test"],
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with a folder of images, recordings and a CSV."""
    monkeypatch.chdir(tmp_path)
    for name in ("photos", "speech"):
        (tmp_path / "mine" / name).mkdir(parents=True)
    for shade, name in enumerate(("dog", "sea", "cat")):
        Image.new("RGB", (4, 4), (80 * shade,) * 3).save(tmp_path / f"mine/photos/{name}.png")
    for name in ("dog", "sea", "cat"):
        soundfile.write(tmp_path / f"mine/speech/{name}.flac", np.zeros(100), 16_000)
    write(ROWS)
    return tmp_path / "mine"


def write(rows, header=HEADER):
    with open("mine/items.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def without(*columns):
    """Header and rows without some columns."""
    kept = [place for place, column in enumerate(HEADER) if column not in columns]
    return [[row[place] for place in kept] for row in ROWS], [HEADER[place] for place in kept]


def run(**options):
    prepare({"plugin": "folder", "options": OPTIONS | options}, Path("unread"), Path("prepared"))
    return Prepared("prepared")


def test_rows_become_items_and_captions():
    dataset = run()
    items = [(item.id, item.category, item.labels, item.image) for item in dataset.items]
    assert items == [
        ("dog", "animal", ("animal", "grass"), "images/dog.png"),
        ("sea", "", (), "images/sea.png"),
        ("cat", "animal", ("animal",), "images/cat.png"),
    ]
    assert [(c.id, c.item, c.text, c.audio) for c in dataset.captions] == [
        ("dog#0", "dog", "A dog runs, fast.", "speech/dog#0.flac"),
        ("dog#1", "dog", "The brown dog.", ""),
        ("sea#0", "sea", "The sea", "speech/sea#0.flac"),
        ("cat#0", "cat", "A cat", "speech/cat#0.flac"),
    ]
    assert dataset.splits == {"dog": "train", "sea": "validation", "cat": "test"}


def test_images_and_recordings_keep_their_bytes(folder):
    dataset = run()
    for item in dataset.items:
        assert dataset.read(item.image) == (folder / f"photos/{item.id}.png").read_bytes()
    for caption in dataset.captions:
        if caption.audio:
            expected = (folder / f"speech/{caption.item}.flac").read_bytes()
            assert dataset.read(caption.audio) == expected


def test_what_belongs_to_an_item_may_stand_in_any_or_all_of_its_rows():
    expected = run()
    first, second = ROWS[0], ROWS[1]
    for rows in ([second, first], [first, [first[0], first[1], second[2], "", *first[4:]]]):
        write([*rows, *ROWS[2:]])
        dataset = run()
        assert dataset.items == expected.items
        assert dataset.splits == expected.splits


@pytest.mark.parametrize("columns", [("image",), ("text",), ("labels", "audio")])
def test_columns_may_be_missing(columns):
    write(*without(*columns))
    dataset = run()
    assert [bool(item.image) for item in dataset.items] == ["image" not in columns] * 3
    assert any(caption.text for caption in dataset.captions) == ("text" not in columns)
    assert any(caption.audio for caption in dataset.captions) == ("audio" not in columns)
    assert any(item.labels for item in dataset.items) == ("labels" not in columns)


def many(count):
    rows = [[f"item{number}", "photos/dog.png", f"text {number}"] for number in range(count)]
    write(rows, ["id", "image", "text"])


def test_splits_are_drawn_where_no_column_says():
    many(50)
    splits = run().splits
    assert Counter(splits.values()) == {"train": 35, "validation": 10, "test": 5}
    assert run().splits == splits
    assert run(seed=1).splits != splits


def test_captions_of_one_item_are_in_one_split():
    rows = [[f"item{k % 10}", "photos/dog.png", f"text {k}"] for k in range(30)]
    write(rows, ["id", "image", "text"])
    assert Counter(run().splits.values()) == {"train": 7, "validation": 2, "test": 1}


def test_few_items_still_make_three_splits():
    many(3)
    assert Counter(run().splits.values()) == {"train": 1, "validation": 1, "test": 1}


def changed(row, column, value):
    rows = [list(fields) for fields in ROWS]
    rows[row - 2][HEADER.index(column)] = value
    return rows


@pytest.mark.parametrize(
    ("row", "column", "value", "fragments"),
    [
        (4, "id", "", ["is empty"]),
        (5, "image", "photos/dgo.png", ["mine/photos/dgo.png", "No such file"]),
        (5, "image", "photos", ["mine/photos", "Is a directory"]),
        (5, "image", "speech/cat.flac", ["speech/cat.flac cannot be read as image"]),
        (5, "audio", "photos/cat.png", ["photos/cat.png cannot be read as audio"]),
        (4, "image", "../items.csv", ["'../items.csv' leads out of the folder mine"]),
        (4, "image", "", ["is empty for item 'sea'"]),
        (3, "image", "photos/sea.png", ["'dog' has 'photos/sea.png' here", "dog.png' in row 2"]),
        (3, "split", "test", ["'dog' has 'test' here, but 'train' in row 2"]),
        (3, "labels", "grass", ["'dog' has 'grass' here, but 'animal; grass' in row 2"]),
        (4, "split", "", ["'' is not one of train, validation, test"]),
        (4, "split", "val", ["'val' is not one of train, validation, test"]),
    ],
)
def test_what_is_wrong_is_named_with_row_and_column(failure, row, column, value, fragments):
    write(changed(row, column, value))
    found = failure(run)
    where = f"items.csv: row {row}, column {column!r}"
    assert [f for f in [where, *fragments] if f not in found] == []


def test_an_id_that_is_there_twice_is_named(failure):
    write([*ROWS, ROWS[3]])
    found = failure(run)
    assert "row 6, column 'id': 'cat' is also in row 5, with the same caption" in found


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n" + bytes(30)])
def test_a_damaged_image_is_named(folder, failure, content):
    (folder / "photos/sea.png").write_bytes(content)
    assert "row 4, column 'image': mine/photos/sea.png cannot be read" in failure(run)


@pytest.mark.parametrize("columns", [("id",), ("image", "audio"), ("text", "image")])
def test_columns_that_are_needed_are_named(failure, columns):
    write(*without(*columns))
    assert "need id and two of image, text, audio" in failure(run)


def test_a_csv_without_rows_is_refused(failure):
    write([])
    assert "items.csv: 0 rows" in failure(run)


def test_a_split_without_items_is_named(failure):
    write(changed(5, "split", "train"))
    assert "items.csv: no item for split 'test'" in failure(run)


@pytest.mark.parametrize(
    ("key", "value"),
    [("validation", 0.0), ("test", 1.0), ("validation", 0.95), ("csv", "items.xlsx"), ("seed", -1)],
)
def test_options_out_of_range_are_refused(key, value):
    with pytest.raises(CrossmodalError, match=r"params\.yaml: datasets\.mine"):
        plugins.make("datasets", "folder", OPTIONS | {key: value}, "datasets.mine")


def test_its_files_are_the_csv_and_what_it_names_as_far_as_it_is_there(folder):
    dataset = plugins.make("datasets", "folder", OPTIONS, "datasets.mine")
    photos = [f"mine/photos/{name}.png" for name in ("dog", "sea", "cat")]
    speech = [f"mine/speech/{name}.flac" for name in ("dog", "sea", "cat")]
    expected = {"mine/items.csv", *photos, *speech}
    assert {str(path) for path in dataset.files()} == expected
    (folder / "photos/sea.png").unlink()
    assert {str(path) for path in dataset.files()} == expected - {"mine/photos/sea.png"}
    (folder / "items.csv").write_text("no;columns\n")
    assert {str(path) for path in dataset.files()} == {"mine/items.csv"}
    (folder / "items.csv").unlink()
    assert dataset.files() == []
