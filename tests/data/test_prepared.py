import numpy as np
import pytest

from crossmodal.data.prepared import Caption, Item, Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError

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


@pytest.mark.parametrize(
    ("name", "line", "fragment"),
    [
        ("items.csv", '"a","","",""', "'a' occurs twice"),
        ("captions.csv", '"a#0","a","again",""', "'a#0' occurs twice"),
        ("splits.csv", '"a","test"', "'a' occurs twice"),
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


def test_a_corrupt_matrix_is_named(tmp_path):
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


def test_a_corrupt_member_is_named(folder):
    path = folder / "media.zip"
    path.write_bytes(path.read_bytes().replace(b"\xff\xd8 first", b"\xff\xd8 worst"))
    with pytest.raises(CrossmodalError, match=r"images/a\.jpg"):
        Prepared(folder).read("images/a.jpg")
    assert Prepared(folder).read("images/ç.png") == b"second"
