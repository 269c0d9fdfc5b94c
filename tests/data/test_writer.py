import numpy as np
import pytest

from crossmodal.data.prepared import FILES, REMARKS, SPLITS, Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_csv
from tests.data.test_prepared import write


def test_a_caption_with_the_id_of_another_item_is_refused(tmp_path):
    def add():
        with Writer(tmp_path) as out:
            for id in ("a", "b", "a#0"):
                out.item(id, "train")
            out.caption("b", "b", "Its only one.")
            out.caption("a#0", "a", "Whose picture is this?")

    with pytest.raises(CrossmodalError, match="'a#0' of item 'a': has the id of another"):
        add()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "toy")
    return tmp_path / "toy"


def test_runs_at_two_times_write_the_same_bytes(tmp_path, monkeypatch):
    write(tmp_path / "first")
    monkeypatch.setattr("time.time", lambda: 2e9)
    write(tmp_path / "second")
    for name in FILES:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_the_folder_holds_the_four_files_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_remarks_come_back_and_go_with_the_data_they_are_on(tmp_path):
    for remarks in ([], ["has 3 clips without samples", "lacks 1 photograph"], []):
        with Writer(tmp_path) as out:
            out.item("a", "train")
            for remark in remarks:
                out.remark(remark)
        assert Prepared(tmp_path).remarks == remarks
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("content", ['{"a": 1}', "[1]", "not JSON"])
def test_damaged_remarks_are_refused(folder, content):
    (folder / REMARKS).write_text(content)
    with pytest.raises(CrossmodalError, match=r"remarks\.json"):
        _ = Prepared(folder).remarks


LONG = "word " * 2_100_000
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
    "half a letter": (lambda out: out.caption("a#1", "a", "\ud83e"), ["'a#1'", "stored in a CSV"]),
    "NUL": (lambda out: out.caption("a#1", "a", "a\0b"), ["'a#1'", "stored in a CSV"]),
    "long caption": (lambda out: out.caption("a#1", "a", LONG), ["'a#1'", "'word word"]),
}
NO_NAMES = [
    "",
    " ",
    "/etc/a",
    "../a",
    "a/../../b",
    "..",
    "a//b",
    "a/./b",
    "a/",
    "a\nb",
    "a\0b",
    "a\x1bb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    ".",
    "..\\x",
    "C:\\x",
]


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
        assert f"{id!r}: is not a file name" in str(caught.value)
        assert list(tmp_path.iterdir()) == []


NAMES = {
    "no-break space": "Bildschirmfoto um 3.07\u00a0Uhr",
    "narrow no-break space": "Screenshot at 3.07.12\u202fPM",
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "Persian non-joiner": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "right-to-left mark": "\u05e9\u200f1",
    "soft hyphen": "sea\u00adside",
    "byte order mark": "\ufeffa",
    "private use": "\uf8ff",
    "not in Unicode yet": "\U000e0fff",
    "decomposed": "cafe\u0301",
    "dashes": "--help/-rf",
    "dots": "...a/.b",
    "255 bytes": "é" * 127 + "a",
}


@pytest.mark.parametrize("id", NAMES.values(), ids=NAMES)
def test_names_that_file_systems_hold_name_items(tmp_path, id):
    write_one_and(lambda out: out.item(id, "train", image=b"of it", suffix=".jpg"), tmp_path)
    prepared = Prepared(tmp_path)
    assert prepared.items[1].id == id
    assert prepared.read(prepared.items[1].image) == b"of it"


@pytest.mark.parametrize("id", [".", ".."])
def test_a_suffix_makes_no_name_of_dots(tmp_path, id):
    with pytest.raises(CrossmodalError, match="is not a file name"):
        write_one_and(lambda out: out.item(id, "train", image=b"image", suffix=".jpg"), tmp_path)


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
    monkeypatch.setattr("crossmodal.data.writer.write_csv", fail)
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
