import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.prepared import FILES, SPLITS, Caption, Item, Prepared, Writer

TEXTS = [
    "A dog runs.",
    'The "old" man, his dog; and the sea',
    "two\nlines and a\ttab",
    "carriage\rreturn",
    "Zwei Möwen über 東京 🦜",
    "  spaces stay  ",
    "",
]


def write(folder):
    """A dataset of three items that uses everything there is."""
    with Writer(folder) as out:
        out.item("a", "train", "bird", image=b"\xff\xd8 first", suffix=".jpg")
        out.item("b/1", "validation", "sea, side", labels=("sea, side", "dog"))
        out.item("ç", "test", labels=("dog",), image=b"second", suffix=".png")
        for number, text in enumerate(TEXTS):
            out.caption(f"a#{number}", "a", text)
        out.caption("spoken", "ç", "said", audio=b"RIFF", suffix=".wav")
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
    assert dataset.captions == [*written, Caption("spoken", "ç", "said", "speech/spoken.wav")]


def test_media_come_back_as_they_were(folder):
    dataset = Prepared(folder)
    media = [dataset.read(m) for m in ("images/a.jpg", "images/ç.png", "speech/spoken.wav")]
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


@pytest.mark.parametrize(
    ("add", "fragments"),
    [
        (lambda out: out.item("a", "train"), ["'a'", "twice"]),
        (lambda out: out.item("z", "dev"), ["'z'", "'dev'", *SPLITS]),
        (lambda out: out.item("z", "train", labels=("sea; side",)), ["'z'", "'sea; side'"]),
        (lambda out: out.item("z", "train", "sea; side"), ["'z'", "'sea; side'"]),
        (lambda out: out.caption("a#0", "a", "again"), ["'a#0'", "twice"]),
        (lambda out: out.caption("z#0", "z", "of nothing"), ["'z#0'", "'z'"]),
    ],
    ids=["item twice", "split", "label", "category", "caption twice", "item of a caption"],
)
def test_what_does_not_fit_stops_and_leaves_no_files(tmp_path, add, fragments):
    with pytest.raises(CrossmodalError) as caught:
        write_one_and(add, tmp_path)
    found = str(caught.value)
    assert [f for f in [str(tmp_path), *fragments] if f not in found] == []
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
