from pathlib import Path

import numpy as np
import pytest

from crossmodal.datasets._formats.item_records import (
    Record,
    Source,
    captions,
    labels_of,
)
from crossmodal.datasets._formats.text_lists import list_of_texts

TEXTS = ["A dog, or two.", 'It\'s \\ "here" \n\t\x07ü🐕\u2028.']


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-1], TEXTS[:1], TEXTS[1:], ["The dog's.", "b"]])
def test_lists_as_pandas_writes_them_are_lists(texts):
    cell = f" {texts!r} "
    assert list_of_texts(cell) == texts
    assert captions(cell) == [" ".join(text.split()) for text in texts]


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
    assert captions(cell) == [cell]
    assert not recwarn.list


@pytest.mark.parametrize("cell", ["[]", " [ ] "])
def test_an_empty_list_has_no_captions_and_no_labels(cell):
    assert captions(cell) == []
    assert labels_of(cell) == ""


def test_labels_may_be_a_list_as_pandas_writes_it():
    assert labels_of("['dog', \"cat's\"]") == "dog;cat's"


@pytest.mark.parametrize("part", ["text", "labels"])
def test_lists_that_are_nested_too_deeply_are_named(part):
    deep = "a"
    for _ in range(5000):
        deep = [deep]
    source = Source(Path("a.jsonl"), "JSON Lines", Path())
    source.fill([Record(Path("a.jsonl"), 3, {"image": "a.png", "text": "a", part: deep})])
    assert str(source.bad).startswith("a.jsonl: row 3: its lists are nested too deeply; give")
