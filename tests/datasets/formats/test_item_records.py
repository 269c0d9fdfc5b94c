from pathlib import Path

import numpy as np
import pytest

from crossmodal.datasets._formats.item_records import (
    Record,
    Source,
    texts_of,
)
from crossmodal.datasets._formats.text_lists import list_of_texts

TEXTS = ["A dog, or two.", 'It\'s \\ "here" \n\t\x07ü🐕\u2028.']


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-1], TEXTS[:1], TEXTS[1:], ["The dog's.", "b"]])
def test_lists_as_pandas_writes_them_are_lists(texts):
    cell = f" {texts!r} "
    assert list_of_texts(cell) == texts
    assert texts_of(cell, "caption") == [" ".join(text.split()) for text in texts]


@pytest.mark.parametrize(
    "cell",
    [
        *("['a' 'b']", "['a', 3]", "['a', ['b']]", "[red] 'a'", "['a'] barks", "['a', b'c']"),
        *(r"['\d']", r"['\x']", "[f'a']", "['a'", "[__import__('os')]", "[" * 9999, "['a'" * 9999),
        str(np.array(["A dog.", "Two."])),
    ],
)
def test_other_cells_that_begin_with_a_bracket_are_one_caption(cell, recwarn):
    assert list_of_texts(cell) == []
    assert texts_of(cell, "caption") == [cell]
    assert not recwarn.list


@pytest.mark.parametrize("cell", ["[]", " [ ] "])
def test_an_empty_list_has_no_captions_and_no_labels(cell):
    assert texts_of(cell, "caption") == []
    assert texts_of(cell, "label") == []


def test_labels_may_be_a_list_as_pandas_writes_it():
    assert texts_of("['dog', \"cat's\"]", "label") == ["dog", "cat's"]


@pytest.mark.parametrize("part", ["text", "labels"])
def test_lists_that_are_nested_too_deeply_are_named(part):
    deep = "a"
    for _ in range(5000):
        deep = [deep]
    source = Source(Path("a.jsonl"), "JSON Lines", Path())
    source.fill([Record(Path("a.jsonl"), 3, {"image": "a.png", "text": "a", part: deep})])
    assert str(source.bad).startswith("a.jsonl: row 3: its lists are nested too deeply; give")


@pytest.mark.parametrize("number", [2024, 2024.0])
def test_whole_numbers_are_captions_and_labels(number):
    """Excel has a text of digits as a number."""
    assert texts_of([number, "a"], "caption") == ["2024", "a"]
    assert texts_of(number, "label") == ["2024"]


def test_a_record_without_the_split_of_others_is_malformed():
    source = Source(Path("a.jsonl"), "JSON Lines", Path())
    splits = ["train", "train", "test", None]
    source.fill(
        Record(Path("a.jsonl"), n, {"image": f"{n}.png", "text": "a", "split": split})
        for n, split in enumerate(splits, 1)
    )
    assert str(source.bad) == "a.jsonl: row 4: has no split, which others have"
    assert [row["split"] for row in source.rows] == ["train", "train", "test"]
