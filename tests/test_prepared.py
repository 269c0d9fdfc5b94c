import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.files import write_csv
from crossmodal.prepared import FILES, SPLITS, Caption, Item, Prepared, Writer

TEXTS = [
    "A dog runs.",
    'The "old" man, his dog; and the sea',
    "two\nlines and a\ttab",
    "carriage\rreturn",
    "Zwei Möwen über 東京 🦜",
    "  spaces stay  ",
]


def write(folder):
    """A dataset of three items that uses everything there is."""
    with Writer(folder) as out:
        out.item("a", "train", "bird", image=b"\xff\xd8 first", suffix=".jpg")
        out.item("b/1", "validation", "sea, side", labels=("sea, side", "dog"))
        out.item("ç", "test", labels=("dog",), image=b"second", suffix=".png")
        for number, text in enumerate(TEXTS):
            out.caption(f"a#{number}", "a", text)
        out.caption("both", "ç", "said", audio=b"RIFF", suffix=".wav")
        out.caption("spoken", "ç", audio=b"fLaC", suffix=".flac")
        out.published("lda", np.arange(6, dtype=np.float32).reshape(3, 2))


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "toy")
    return tmp_path / "toy"


def test_items_captions_and_splits_come_back_as_they_were(folder):
    dataset = Prepared(folder)
    assert dataset.items == [
        Item("a", "bird", ("bird",), "images/a.jpg"),
        Item("b/1", "sea, side", ("sea, side", "dog"), ""),
        Item("ç", "", ("dog",), "images/ç.png"),
    ]
    assert dataset.splits == {"a": "train", "b/1": "validation", "ç": "test"}
    written = [Caption(f"a#{number}", "a", text, "") for number, text in enumerate(TEXTS)]
    assert dataset.captions == [
        *written,
        Caption("both", "ç", "said", "speech/both.wav"),
        Caption("spoken", "ç", "", "speech/spoken.flac"),
    ]


def test_media_come_back_as_they_were(folder):
    dataset = Prepared(folder)
    media = [dataset.read(m) for m in ("images/a.jpg", "images/ç.png", "speech/both.wav")]
    assert media == [b"\xff\xd8 first", b"second", b"RIFF"]
    np.testing.assert_array_equal(dataset.published("lda"), [[0, 1], [2, 3], [4, 5]])
    assert dataset.published("lda").dtype == np.float32


def test_a_split_keeps_the_order_of_the_dataset(tmp_path):
    order = [("d", "test"), ("a", "train"), ("c", "validation"), ("b", "test"), ("e", "train")]
    with Writer(tmp_path) as out:
        for id, split in order:
            out.item(id, split)
    dataset = Prepared(tmp_path)
    assert [item.id for item in dataset.split("test")] == ["d", "b"]
    assert [item.id for item in dataset.split("train", "test")] == ["d", "a", "b", "e"]
    assert dataset.split("none") == []


def test_runs_at_two_times_write_the_same_bytes(tmp_path, monkeypatch):
    write(tmp_path / "first")
    monkeypatch.setattr("time.time", lambda: 2e9)
    write(tmp_path / "second")
    for name in FILES:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_the_folder_holds_the_four_files_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


LONG = "word " * 30_000
UNFIT = {
    "item twice": (lambda out: out.item("a", "train"), ["'a'", "twice"]),
    "item in two splits": (lambda out: out.item("a", "test"), ["'a'", "'train'", "'test'"]),
    "split": (lambda out: out.item("z", "dev"), ["'z'", "'dev'", *SPLITS]),
    "label": (lambda out: out.item("z", "train", labels=("sea; side",)), ["'z'", "'sea; side'"]),
    "category": (lambda out: out.item("z", "train", "sea; side"), ["'z'", "'sea; side'"]),
    "empty label": (lambda out: out.item("z", "train", "b", ("b", "")), ["'z'", "label ''"]),
    "blank category": (lambda out: out.item("z", "train", " "), ["'z'", "label ' '"]),
    "empty image": (lambda out: out.item("z", "train", image=b""), ["'z'", "empty"]),
    "suffix": (lambda out: out.item("z", "train", suffix="/../z.jpg"), ["'z'", "'/../z.jpg'"]),
    "caption twice": (lambda out: out.caption("a#0", "a", "again"), ["'a#0'", "twice"]),
    "item of a caption": (lambda out: out.caption("z#0", "z", "of nothing"), ["'z#0'", "'z'"]),
    "empty caption": (lambda out: out.caption("a#1", "a"), ["'a#1'", "neither text nor audio"]),
    "blank caption": (lambda out: out.caption("a#1", "a", " \n"), ["'a#1'", "neither"]),
    "empty audio": (lambda out: out.caption("a#1", "a", audio=b""), ["'a#1'", "empty"]),
    "half a letter": (lambda out: out.caption("a#1", "a", "\ud83e"), ["'a#1'", "kept in a CSV"]),
    "long caption": (lambda out: out.caption("a#1", "a", LONG), ["'a#1'", "'word word"]),
}
NO_NAMES = ["", " ", "/etc/a", "../a", "a/../../b", "..", "a//b", "a/./b", "a/", "a\nb", "a\0b"]


@pytest.mark.parametrize(("add", "fragments"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_stops_and_leaves_no_files(tmp_path, add, fragments):
    with pytest.raises(CrossmodalError) as caught:
        write_one_and(add, tmp_path)
    found = str(caught.value)
    assert [f for f in [str(tmp_path), *fragments] if f not in found] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("id", [*NO_NAMES, "\ud83e"])
def test_an_id_that_is_no_name_for_a_file_is_refused(tmp_path, id):
    for add in (lambda out: out.item(id, "train"), lambda out: out.caption(id, "a", "text")):
        with pytest.raises(CrossmodalError) as caught:
            write_one_and(add, tmp_path)
        assert f"{id!r}: is no name for a file" in str(caught.value)
        assert list(tmp_path.iterdir()) == []


def write_one_and(add, folder):
    with Writer(folder) as out:
        out.item("a", "train", image=b"image")
        out.caption("a#0", "a", "text")
        add(out)


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_keeps_the_old_dataset(folder, failure):
    def fail(out):
        raise failure

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(failure):
        write_one_and(fail, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("table", ["items.csv", "captions.csv", "splits.csv"])
def test_a_table_that_cannot_be_written_keeps_the_old_dataset(folder, monkeypatch, table):
    def fail(path, columns, rows):
        if table in path.name:
            raise OSError(28, "No space left on device")
        write_csv(path, columns, rows)

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("crossmodal.prepared.write_csv", fail)
    with pytest.raises(OSError, match="No space left"):
        write_one_and(lambda out: None, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("counts", "split", "found", "declared"),
    [
        ({"train": 2, "validation": 0, "test": 0}, "train", 1, 2),
        ({"train": 1, "validation": 0, "test": 4}, "test", 0, 4),
        ({"test": 0}, "train", 1, 0),
    ],
)
def test_split_sizes_other_than_declared_are_named(tmp_path, counts, split, found, declared):
    message = f"{found} items in split '{split}', but the dataset declares {declared}"
    with pytest.raises(CrossmodalError, match=f"{tmp_path}: {message}"):
        write_one_and(lambda out: out.check(counts), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_declared_split_sizes_pass(tmp_path):
    write_one_and(lambda out: out.check({"train": 1}), tmp_path)
    assert Prepared(tmp_path).splits == {"a": "train"}


def test_every_item_needs_a_caption(tmp_path):
    def add(out):
        out.item("b", "train", image=b"image")
        out.check({"train": 2})

    with pytest.raises(CrossmodalError, match=f"{tmp_path}: item 'b': has no caption"):
        write_one_and(add, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_items_that_published_matrices_describe_need_no_caption(tmp_path):
    with Writer(tmp_path) as out:
        out.item("a", "train")
        out.published("sift", np.zeros((1, 2)))
        out.check({"train": 1})
    assert Prepared(tmp_path).captions == []


@pytest.mark.parametrize(
    ("name", "line", "fragment"),
    [
        ("items.csv", '"a","","",""', "'a' is there twice"),
        ("captions.csv", '"a#0","a","again",""', "'a#0' is there twice"),
        ("splits.csv", '"a","test"', "'a' is there twice"),
        ("splits.csv", '"z","dev"', "'dev' of 'z'"),
        ("items.csv", '"z","","",""', "splits.csv: item 'z' is in no split"),
    ],
)
def test_tables_that_do_not_fit_are_named(folder, name, line, fragment):
    with (folder / name).open("a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(CrossmodalError) as caught:
        _ = (dataset := Prepared(folder)).captions, dataset.split("train")
    assert f"{folder}/" in str(caught.value)
    assert fragment in str(caught.value)


def test_a_damaged_matrix_is_named(tmp_path):
    with Writer(tmp_path) as out:
        out.item("a", "train")
        out._store("a", "published", "sift", ".npy", b"\x93NUMPY and no more")
    with pytest.raises(CrossmodalError, match=r"media\.zip: matrix 'sift'"):
        Prepared(tmp_path).published("sift")


def test_missing_files_and_members_are_named(folder):
    with pytest.raises(CrossmodalError, match=r"none.items\.csv"):
        _ = Prepared(folder / "none").items
    with pytest.raises(CrossmodalError, match=r"none.media\.zip"):
        Prepared(folder / "none").read("images/a.jpg")
    with pytest.raises(CrossmodalError, match=r"media\.zip: 'images/z\.jpg'"):
        Prepared(folder).read("images/z.jpg")
    with pytest.raises(CrossmodalError, match=r"no published feature 'sift'; it has: lda"):
        Prepared(folder).published("sift")


def test_a_truncated_archive_is_named(folder):
    path = folder / "media.zip"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CrossmodalError, match=str(path)):
        Prepared(folder).read("images/a.jpg")


def test_a_damaged_member_is_named(folder):
    path = folder / "media.zip"
    path.write_bytes(path.read_bytes().replace(b"\xff\xd8 first", b"\xff\xd8 worst"))
    with pytest.raises(CrossmodalError, match=r"images/a\.jpg"):
        Prepared(folder).read("images/a.jpg")
    assert Prepared(folder).read("images/ç.png") == b"second"
