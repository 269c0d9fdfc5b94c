import io
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal.commands.check import MOST, check
from crossmodal.commands.examine import examine
from crossmodal.data.prepared import SPLITS, Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError

COUNTS = {"train": 3, "validation": 2, "test": 2}


def image(number, size=(8, 6)):
    stream = io.BytesIO()
    Image.new("RGB", size, (number, 2 * number, 90)).save(stream, "PNG")
    return stream.getvalue()


def clip(seconds):
    stream = io.BytesIO()
    soundfile.write(stream, np.zeros(round(8000 * seconds)), 8000, format="WAV")
    return stream.getvalue()


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write data/prepared/toy, of seven items and ten captions, with what else is given."""

    def write(images=None, texts=None, counts=COUNTS):
        images, texts, number = images or {}, texts or {}, 0
        with Writer(tmp_path / "data/prepared/toy") as out:
            for split in SPLITS:
                for _ in range(counts.get(split, 0)):
                    content = images.get(number, image(number))
                    labels = ("dog", "ball") if number == 0 else ("dog",)
                    out.item(f"i{number}", split, "dog", labels, content, ".png")
                    text = texts.get(number, f"item number {number}")
                    out.caption(f"i{number}#0", f"i{number}", text)
                    number += 1
            for seconds in (1.0, 2.0, 6.0):
                out.caption(f"spoken {seconds}", "i0", f"{seconds}", clip(seconds), ".wav")
        return Prepared(tmp_path / "data/prepared/toy")

    return write


def statistics(table):
    names, *columns = (list(column.cells) for column in table.columns)
    assert [c.header for c in table.columns][1:] == list(SPLITS)
    return {name: cells for name, *cells in zip(names, *columns, strict=True)}


def test_a_sound_dataset_has_neither_warnings_nor_errors(write):
    _, warnings, errors = examine(write(), COUNTS)
    assert (warnings, errors) == ([], [])
    assert examine(write(), None)[2] == []


def test_statistics_are_those_of_each_split(write):
    big = image(1, (10, 2))
    found = statistics(examine(write({1: big}), COUNTS)[0])
    assert found == {
        "items": ["3", "2", "2"],
        "captions": ["6", "2", "2"],
        "captions of an item": ["1 / 2 / 4", "1 / 1 / 1", "1 / 1 / 1"],
        "words of a caption": ["1 / 2 / 3", "3 / 3 / 3", "3 / 3 / 3"],
        "labels": ["2", "1", "1"],
        "labels of an item": ["1 / 1.333 / 2", "1 / 1 / 1", "1 / 1 / 1"],
        "items of a label": ["1 / 2 / 3", "2 / 2 / 2", "2 / 2 / 2"],
        "image width": ["8 / 8.667 / 10", "8 / 8 / 8", "8 / 8 / 8"],
        "image height": ["2 / 4.667 / 6", "6 / 6 / 6", "6 / 6 / 6"],
        "clips": ["3", "0", "0"],
        "seconds of a clip": ["1 / 3 / 6", "", ""],
    }


def test_what_a_dataset_does_not_have_has_no_row(tmp_path):
    with Writer(tmp_path) as out:
        for split in SPLITS:
            out.item(split, split)
            out.caption(split, split, "two words")
    found = statistics(examine(Prepared(tmp_path), None)[0])
    assert list(found) == ["items", "captions", "captions of an item", "words of a caption"]


def test_an_image_in_two_splits_is_an_error_that_names_both(write):
    errors = examine(write({5: image(0)}), COUNTS)[2]
    assert errors == ["one image in two splits: i0 (train), i5 (test)"]


def test_an_image_twice_in_one_split_is_none(write):
    assert examine(write({1: image(0), 2: image(0)}), COUNTS)[2] == []


def test_captions_in_two_splits_are_counted_in_a_warning(write):
    texts = {0: "a dog", 1: "a dog", 3: "a dog", 4: "a cat", 6: "a cat", 5: "An owl", 2: "an owl"}
    _, warnings, errors = examine(write(texts=texts), COUNTS)
    assert errors == []
    assert warnings == ["2 captions are the same in two splits"]


def test_splits_of_another_size_are_named(write):
    errors = examine(write(), {"train": 3, "validation": 9})[2]
    assert errors == [
        "split 'validation' has 2 items, the dataset declares 9",
        "split 'test' has 2 items, the dataset declares 0",
    ]


def test_a_corrupt_image_is_named_and_the_others_are_measured(write):
    table, _, errors = examine(write({4: b"\x89PNG no more"}), COUNTS)
    assert len(errors) == 1
    assert errors[0].startswith("images/i4.png cannot be opened: ")
    assert statistics(table)["image width"][1] == "8 / 8 / 8"


def test_a_caption_of_no_item_is_named(write):
    dataset = write()
    with (dataset.folder / "captions.csv").open("a") as stream:
        stream.write('"x#0","x","text",""\n')
    assert examine(dataset, COUNTS)[2] == ["caption 'x#0' has no item"]


def run(monkeypatch, counts=COUNTS, name="toy"):
    params = SimpleNamespace(
        features={"text": {}, "image": {}},
        lacking=lambda name: ["transformers"] if name == "text" else [],
        broken={},
        datasets={"toy": {}},
        dataset_of=lambda name: SimpleNamespace(counts=lambda: counts),
    )
    monkeypatch.setattr("crossmodal.commands.check.read", lambda *files: params)
    check(name, "params.yaml")


def test_a_sound_dataset_is_printed(write, monkeypatch, capsys):
    write(texts={0: "a dog", 3: "a dog"})
    run(monkeypatch)
    printed = capsys.readouterr()
    assert "captions of an item" in printed.out
    assert "warning: 1 captions are the same in two splits" in printed.err


def test_leaks_are_listed_after_the_statistics_up_to_a_bound(write, monkeypatch, capsys):
    counts = {"train": MOST + 5, "test": MOST + 5}
    write({n + MOST + 5: image(n) for n in range(MOST + 5)}, counts=counts)
    with pytest.raises(CrossmodalError) as caught:
        run(monkeypatch, counts)
    lines = str(caught.value).splitlines()
    assert lines[0] == "data/prepared/toy:"
    assert lines[1] == f"  one image in two splits: i0 (train), i{MOST + 5} (test)"
    assert len(lines) == MOST + 2
    assert lines[-1] == "  and 5 more"
    assert "items" in capsys.readouterr().out


def test_an_item_in_two_splits_is_an_error(write, monkeypatch):
    dataset = write()
    with (dataset.folder / "splits.csv").open("a") as stream:
        stream.write('"i0","test"\n')
    with pytest.raises(CrossmodalError, match=r"splits\.csv: 'i0' occurs twice"):
        run(monkeypatch)


def test_unusable_dataset_names_the_remedy(monkeypatch, tmp_path):
    with pytest.raises(CrossmodalError, match="'toys' is unknown; known: toy; did you mean 'toy'"):
        run(monkeypatch, name="toys")
    with pytest.raises(
        CrossmodalError, match=r"not prepared yet; run crossmodal run .*toy/items\.csv"
    ):
        run(monkeypatch)


def test_without_a_dataset_params_alone_are_checked(monkeypatch, capsys):
    run(monkeypatch, name=None)
    printed = capsys.readouterr()
    assert printed.out == "params.yaml: fine\n"
    assert printed.err == 'to use text: run `pip install "crossmodal-retrieval[encoders]"`\n'
