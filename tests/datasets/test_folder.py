import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.steps.prepare import prepare

OPTIONS = {"csv": "mine/items.csv", "validation": 0.2, "test": 0.1, "seed": 0}
OPTIONS |= {"duplicates": "refuse"}
HEADER = ["id", "image", "text", "speech", "labels", "split"]
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
    for number, name in enumerate(("dog", "sea", "cat")):
        picture(number).save(tmp_path / f"mine/photos/{name}.png")
        clip = np.full(100, number / 10)
        soundfile.write(tmp_path / f"mine/speech/{name}.flac", clip, 16_000)
    write(ROWS)
    return tmp_path / "mine"


def picture(seed):
    """A picture of 16 x 16 cells of noise."""
    cells = np.random.default_rng(seed).integers(256, size=(16, 16, 3), dtype=np.uint8)
    return Image.fromarray(cells).resize((64, 48), Image.NEAREST)


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


@pytest.mark.parametrize("columns", [("image",), ("text",), ("labels", "speech")])
def test_columns_may_be_missing(columns):
    write(*without(*columns))
    dataset = run()
    assert [bool(item.image) for item in dataset.items] == ["image" not in columns] * 3
    assert any(caption.text for caption in dataset.captions) == ("text" not in columns)
    assert any(caption.audio for caption in dataset.captions) == ("speech" not in columns)
    assert any(item.labels for item in dataset.items) == ("labels" not in columns)


def many(count, captions=1):
    for number in range(count):
        picture(number).save(f"mine/photos/{number}.png")
    rows = [
        [f"item{number}", f"photos/{number}.png", f"text {number} {caption}"]
        for caption in range(captions)
        for number in range(count)
    ]
    write(rows, ["id", "image", "text"])


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


def changed(row, column, value):
    rows = [list(fields) for fields in ROWS]
    rows[row - 2][HEADER.index(column)] = value
    return rows


@pytest.mark.parametrize(
    ("row", "column", "value", "fragments"),
    [
        (4, "id", "", ["is empty"]),
        (4, "id", "..", ["'..' cannot name a file", "choose another name"]),
        (4, "id", "C:\\sea", ["cannot name a file"]),
        (4, "image", "photos/s\0a.png", ["has a NUL character", "type the field anew"]),
        (4, "text", "s\0a", ["has a NUL character"]),
        (4, "image", "photos/out.png", ["mine/photos/out.png is a link", "put the file there"]),
        (5, "image", "photos/dgo.png", ["mine/photos/dgo.png", "No such file"]),
        (5, "image", "photos", ["mine/photos", "Is a directory"]),
        (
            5,
            "image",
            "speech/cat.flac",
            ["speech/cat.flac: cannot be read as image: it is in"],
        ),
        (5, "speech", "photos/cat.png", ["mine/photos/cat.png: cannot be decoded as audio"]),
        (4, "image", "../items.csv", ["'../items.csv' is outside the folder mine"]),
        (4, "image", "", ["is empty for item 'sea'"]),
        (3, "image", "photos/sea.png", ["'dog' has 'photos/sea.png' here", "dog.png' in row 2"]),
        (3, "split", "test", ["'dog' has 'test' here, but 'train' in row 2"]),
        (3, "labels", "grass", ["'dog' has 'grass' here, but 'animal; grass' in row 2"]),
        (4, "split", "", ["'' is not one of train, validation, test"]),
        (4, "split", "val", ["'val' is not one of train, validation, test"]),
    ],
)
def test_what_is_wrong_is_named_with_row_and_column(failure, row, column, value, fragments):
    Path("elsewhere.png").write_bytes(Path("mine/photos/sea.png").read_bytes())
    Path("mine/photos/out.png").symlink_to(Path("elsewhere.png").resolve())
    write(changed(row, column, value))
    found = failure(run)
    where = f"items.csv: row {row}, column {column!r}"
    assert [f for f in [where, *fragments] if f not in found] == []


def test_all_that_is_wrong_is_reported_at_once_in_the_order_of_the_rows(folder, failure):
    rows = changed(5, "speech", "speech/kat.flac")
    rows[0] = changed(2, "split", "training")[0]
    write([*rows, ["", "", "nameless", "", "", ""], ["owl", "../owl.png", "", "x.wav", "", "test"]])
    (folder / "photos/sea.png").write_bytes(b"")
    found = failure(run).splitlines()
    expected = [
        "row 2, column 'split': 'training' is not one of",
        "row 4, column 'image': mine/photos/sea.png: cannot be read as image: it is empty",
        "row 5, column 'speech': mine/speech/kat.flac: No such file",
        "row 6, column 'id': is empty",
        "row 7, column 'image': '../owl.png' is outside",
        "row 7, column 'text': is empty for item 'owl'",
    ]
    assert len(found) == len(expected)
    for line, start in zip(found, expected, strict=True):
        assert f"mine/items.csv: {start}" in line


def test_at_most_fifty_findings_are_shown(failure):
    write([[f"i{row}", "", f"text {row}"] for row in range(60)], ["id", "image", "text"])
    found = failure(run).splitlines()
    assert found[0].endswith("row 2, column 'image': is empty for item 'i0'; fill it in")
    assert len(found) == 51
    assert found[-1] == "and 10 more"


def test_the_former_name_of_a_column_names_the_present_one(failure):
    write(ROWS, ["id", "image", "text", "audio", "labels", "split"])
    assert "column 'audio' is called 'speech'; rename it" in failure(run)


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


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        (["Alps", "alps", "sea"], ["'Alps' (1) and 'alps' (1)"]),
        (["beach", "baech", "sea"], ["'beach' (1) and 'baech' (1)"]),
        (["alps", "alp", "sea"], ["'alps' (1) and 'alp' (1)"]),
        (["alps, sea", "sea", "hill"], ["'alps, sea' has a separator"]),
        (["class1", "class2", "class12"], []),
        (["cat", "car", "hat"], []),
        (["sea", "sea;dune", "dune"], []),
    ],
)
def test_suspicious_labels_are_warned_of(labels, warned, recwarn):
    write(
        [[*row[:4], label, row[5]] for row, label in zip(ROWS[0:1] + ROWS[2:], labels, strict=True)]
    )
    run()
    found = " ".join(str(warning.message) for warning in recwarn)
    assert bool(found) == bool(warned)
    assert [fragment for fragment in warned if fragment not in found] == []


def test_links_inside_the_folder_are_followed(folder):
    (folder / "photos/sea.png").rename(folder / "sea.png")
    (folder / "photos/sea.png").symlink_to("../sea.png")
    assert run().read("images/sea.png") == (folder / "sea.png").read_bytes()


def test_an_id_that_is_there_twice_is_named(failure):
    write([*ROWS, ROWS[3]])
    found = failure(run)
    assert "row 6, column 'id': 'cat' is also in row 5, with the same caption" in found


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n" + bytes(30)])
def test_a_corrupt_image_is_named(folder, failure, content):
    (folder / "photos/sea.png").write_bytes(content)
    assert "row 4, column 'image': mine/photos/sea.png: cannot be read" in failure(run)


@pytest.mark.parametrize("columns", [("id",), ("image", "speech"), ("text", "image")])
def test_columns_that_are_needed_are_named(failure, columns):
    write(*without(*columns))
    assert "need id and two of image, text, speech" in failure(run)


def test_a_csv_without_rows_is_refused(failure):
    write([])
    assert "items.csv: has no rows below its header" in failure(run)


def test_a_split_without_items_is_named(failure):
    write(changed(5, "split", "train"))
    assert "items.csv: no item for split 'test'" in failure(run)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("validation", 0.0),
        ("test", 1.0),
        ("validation", 0.95),
        ("csv", "items.xlsx"),
        ("seed", -1),
        ("duplicates", "ignore"),
    ],
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


def departure():
    return plugins.make("datasets", "folder", OPTIONS, "mine").departure()


def test_items_without_labels_and_rows_without_text_are_counted():
    said = departure()
    assert said.startswith("has 1 of 3 items without labels, which methods")
    assert "rows" not in said
    write([*ROWS, ["cat", "", "", "", "", ""], ["sea", "", "", "speech/cat.flac", "", ""]])
    assert (
        "; 1 rows without text or speech, which are no captions; 1 spoken captions" in departure()
    )


def test_nothing_is_said_of_data_without_labels_or_without_a_csv():
    rows, header = without("labels")
    write(rows, header)
    assert departure() == ""
    Path("mine/items.csv").unlink()
    assert departure() == ""


def test_nothing_of_the_users_own_is_shared():
    folder = plugins.load("datasets", "folder")
    shared = (folder.redistribution, folder.shares_features, folder.shares_models)
    assert shared == (False, False, False)
