from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.datasets.own_data import ROWS, make_folder, many, run, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with a folder of images, recordings and a CSV."""
    monkeypatch.chdir(tmp_path)
    return make_folder()


def break_files(names):
    """Damage of several kinds."""
    for number, name in enumerate(names):
        path = Path("mine", name)
        match number % 4:
            case 0:
                path.write_bytes(b"\xff\xd8\xff\xe0 half a file")
            case 1:
                path.write_bytes(b"")
            case 2:
                path.write_text("<html>404</html>")
            case 3:
                path.unlink()


def test_all_files_that_cannot_be_read_are_named(failure):
    many(20)
    break_files([f"photos/{number}.png" for number in range(0, 20, 2)])
    lines = failure(run).splitlines()
    assert [f"photos/{2 * n}.png: " in line for n, line in enumerate(lines)] == [True] * 10


def test_files_that_cannot_be_read_are_left_out_where_asked():
    many(30, captions=2)
    bad = [f"photos/{number}.png" for number in range(5)]
    break_files(bad)
    with pytest.warns(UserWarning, match="left out, since they cannot be read") as warned:
        dataset = run(skip_bad=True)
    (told,) = (str(w.message) for w in warned if "left out" in str(w.message))
    assert [name for name in bad if name not in told] == []
    assert [item.id for item in dataset.items] == [f"item{number}" for number in range(5, 30)]
    assert len(dataset.captions) == 50
    assert dataset.remarks == [
        "lacks 5 files that cannot be read, and 5 of 30 items that need them"
    ]


def test_what_is_left_is_prepared_as_without_the_rest():
    many(30)
    rows = [[f"item{n}", f"photos/{n}.png", f"text {n} 0"] for n in range(4, 30)]
    break_files([f"photos/{number}.png" for number in range(4)])
    with pytest.warns(UserWarning, match="left out"):
        skipped = run(skip_bad=True)
    write(rows, ["id", "image", "text"])
    expected = run()
    assert (skipped.items, skipped.splits) == (expected.items, expected.splits)


def test_an_item_stays_as_long_as_it_has_each_modality():
    owl = ["dog", "", "A third one.", "speech/owl.flac", "", ""]
    write([*ROWS, owl])
    with pytest.warns(UserWarning, match=r"row 6.*speech/owl\.flac"):
        dataset = run(skip_bad=True)
    assert [item.id for item in dataset.items] == ["dog", "sea", "cat"]
    third = dataset.captions_of["dog"][2]
    assert (third.text, third.audio) == ("A third one.", "")
    remarks = ["lacks 1 files that cannot be read, and 0 of 3 items that need them"]
    assert dataset.remarks[:1] == remarks


def test_where_nothing_is_left_the_reasons_are_told(failure):
    many(4)
    break_files([f"photos/{number}.png" for number in range(4)])
    assert len(failure(run, skip_bad=True).splitlines()) == 4


def test_nothing_is_remarked_on_whole_data(recwarn):
    many(10)
    assert run(skip_bad=True).remarks == []
    assert [str(w.message) for w in recwarn] == []


def test_identical_captions_of_an_item_are_one():
    twice = [ROWS[0], ROWS[1], ["dog", *ROWS[0][1:4], "", ""], ROWS[1], *ROWS[2:]]
    write(twice)
    dataset = run()
    assert [caption.id for caption in dataset.captions_of["dog"]] == ["dog#0", "dog#1"]
    assert "has 2 captions that an item has twice, which count once" in dataset.remarks
    write([ROWS[0], *ROWS[2:], ["cat", "", ROWS[0][2], "", "", ""]])
    assert not [remark for remark in run().remarks if "twice" in remark]


def test_what_an_item_states_beside_a_repeated_caption_counts():
    bare = ["dog", "", "A dog runs, fast.", "speech/dog.flac", "", ""]
    write([bare, *ROWS[0:1], *ROWS[2:]])
    dataset = run()
    assert (dataset.items[0].image, dataset.splits["dog"]) == ("images/dog.png", "train")
    assert len(dataset.captions_of["dog"]) == 1


def test_clips_without_samples_are_named_and_counted():
    soundfile.write("mine/speech/sea.wav", np.zeros(0), 16_000)
    write([*ROWS[:2], ["sea", *ROWS[2][1:3], "speech/sea.wav", *ROWS[2][4:]], ROWS[3]])
    with pytest.warns(UserWarning, match=r"row 4, column 'speech': mine/speech/sea\.wav: has no"):
        assert "has 1 sound files without samples" in run().remarks


def test_items_without_labels_and_rows_without_text_are_counted():
    (remark,) = run().remarks
    assert remark.startswith("has 1 of 3 items without labels, which methods")
    write([*ROWS, ["cat", "", "", "", "", ""], ["sea", "", "", "speech/cat.flac", "", ""]])
    assert run(duplicates="warn").remarks[1:3] == [
        "has 1 rows without text or speech, which are no captions",
        "has 1 spoken captions without text, which have no words",
    ]
