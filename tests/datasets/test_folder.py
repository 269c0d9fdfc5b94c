import pytest

from crossmodal.config import plugins
from crossmodal.errors import CrossmodalError
from tests.datasets.own_data import HEADER, OPTIONS, ROWS, make_folder, run, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with a folder of images, recordings and a CSV."""
    monkeypatch.chdir(tmp_path)
    return make_folder()


def without(*columns):
    """Header and rows without some columns."""
    kept = [place for place, column in enumerate(HEADER) if column not in columns]
    return [[row[place] for place in kept] for row in ROWS], [HEADER[place] for place in kept]


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


def test_item_columns_may_stand_in_any_of_its_rows():
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
        (5, "image", "photos/dgo.png", ["mine/photos/dgo.png", "No such file"]),
        (5, "image", "photos", ["mine/photos", "Is a directory"]),
        (
            5,
            "image",
            "speech/cat.flac",
            ["speech/cat.flac: cannot be read as image: it is in"],
        ),
        (5, "speech", "photos/cat.png", ["mine/photos/cat.png: cannot be decoded as audio"]),
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


def test_all_errors_are_reported_in_row_order(folder, failure):
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
        "row 7, column 'image': mine/../owl.png: No such file",
        "row 7, column 'speech': mine/x.wav: No such file",
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


def test_audio_is_another_name_of_the_column_speech():
    write(ROWS, ["id", "image", "text", "Audio", "labels", "split"])
    assert run().captions[0].audio == "speech/dog#0.flac"


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


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n" + bytes(30)])
def test_a_corrupt_image_is_named(folder, failure, content):
    (folder / "photos/sea.png").write_bytes(content)
    assert "row 4, column 'image': mine/photos/sea.png: cannot be read" in failure(run)


def test_the_column_that_is_needed_is_named(failure):
    write(*without("id"))
    assert "has the columns image, text, speech, labels, split; it needs id" in failure(run)


@pytest.mark.parametrize("media", [(), ("image",), ("text",)])
def test_items_of_arrays_need_no_media(media):
    write(*without(*{"image", "text", "speech"} - {*media}))
    dataset, expected = run(), ["dog#0", "dog#1", "sea#0", "cat#0"]
    assert [caption.id for caption in dataset.captions] == expected
    assert [item.id for item in dataset.items] == ["dog", "sea", "cat"]
    assert {bool(item.image) for item in dataset.items} == {"image" in media}
    assert {bool(caption.text) for caption in dataset.captions} == {"text" in media}
    assert dataset.remarks == run().remarks


def test_a_csv_without_rows_is_refused(failure):
    write([])
    assert "items.csv: has no rows below its header" in failure(run)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("validation", 0.0),
        ("test", 1.0),
        ("validation", 0.95),
        ("csv", "items.xlsx"),
        ("seed", -1),
        ("duplicates", "ignore"),
        ("language", "Deutsch"),
        ("language", "de_DE"),
        ("language", ""),
    ],
)
def test_options_out_of_range_are_refused(key, value):
    with pytest.raises(CrossmodalError, match=r"params\.yaml: datasets\.mine"):
        plugins.make("datasets", "folder", OPTIONS | {key: value}, "datasets.mine")


def test_sources_are_the_csv_and_existing_files_it_names(folder):
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


def test_nothing_of_the_users_own_is_shared():
    folder = plugins.load("datasets", "folder")
    shared = (folder.redistribution, folder.shares_features, folder.shares_models)
    assert shared == (False, False, False)


def test_labels_may_be_a_list_as_pandas_writes_it():
    write(changed(2, "labels", "['animal', 'grass']"))
    assert run().items[0].labels == ("animal", "grass")
