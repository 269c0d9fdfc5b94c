import csv
import os
from collections import Counter
from pathlib import Path

import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.datasets import _flickr8k_classes, flickr8k
from crossmodal.datasets._flickr8k_classes import LARGEST, WORDS, classes
from crossmodal.io.archives import Archive
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec

OPTIONS = {"speech": "none", "classes": True}
OTHERS = ("Two men talk .", "It is warm .", "A red wall .", "People wait .", "Children laugh .")


def class_of(*captions):
    """Class of a photograph with these captions, and others up to five."""
    five = [*captions, *OTHERS][:5]
    return classes({"a.jpg": dict(enumerate(five))}).get("a.jpg")


@pytest.mark.parametrize(("number", "expected"), [(0, None), (2, None), (3, "horse"), (5, "horse")])
def test_three_captions_of_five_make_a_class(number, expected):
    assert class_of(*number * ["A horse stands ."]) == expected


def test_a_caption_counts_once_however_often_it_holds_the_words():
    assert class_of("A horse and a horse and two horses .") is None


def test_a_word_of_another_class_excludes_even_in_one_caption():
    assert class_of(*4 * ["A horse stands ."], "A dog barks .") is None


def test_different_words_of_one_class_add_up():
    assert class_of("A surfer waits .", "Surfing .", "On a surfboard .") == "surf"


@pytest.mark.parametrize("caption", ["HORSES run", "a horse,", '"horse"', "horse-drawn", "Horse's"])
def test_words_are_found_in_any_case_and_beside_any_mark(caption):
    assert class_of(*3 * [caption]) == "horse"


@pytest.mark.parametrize("caption", ["A seahorse .", "A hotdog .", "A scarf .", "A skinny man ."])
def test_words_inside_longer_words_are_not_found(caption):
    assert class_of(*5 * [caption]) is None


def test_no_word_is_in_two_classes():
    counts = Counter(word for words in WORDS.values() for word in words)
    assert set(counts.values()) == {1}
    assert len(WORDS) == 20


@pytest.mark.parametrize(
    ("name", "word"), [(n, w) for n, words in WORDS.items() for w in sorted(words)]
)
def test_every_word_makes_its_class(name, word):
    assert class_of(*3 * [f"A {word} ."]) == name


def test_draw_from_a_large_class_is_caption_order_invariant():
    dogs = {f"{n}.jpg": dict.fromkeys(range(5), "A dog .") for n in range(LARGEST + 30)}
    horses = {f"h{n}.jpg": dict.fromkeys(range(5), "A horse .") for n in range(30)}
    drawn = classes(dogs | horses)
    assert drawn == classes(dict(reversed((dogs | horses).items())))
    assert Counter(drawn.values()) == {"dog": LARGEST, "horse": 30}


def test_photographs_with_a_class_keep_official_splits(small, monkeypatch):
    words = {f"thing{letter}": {f"thing{letter}"} for letter in "abcdefg"}
    monkeypatch.setattr(_flickr8k_classes, "WORDS", words)
    flickr = small("flickr8k")
    monkeypatch.setattr(flickr8k, "COUNTS_IN_CLASSES", {"train": 63, "validation": 21, "test": 21})
    everything = flickr.prepare(speech="none")
    captions = [c for c in everything.captions if set(c.text.split()) & words.keys()]
    expected = {c.item: (set(c.text.split()) & words.keys()).pop() for c in captions}
    splits = {id: everything.splits[id] for id in expected}
    kept = flickr.prepare(**OPTIONS)
    assert {item.id: item.category for item in kept.items} == expected
    assert kept.splits == splits
    assert kept.captions == captions


@pytest.fixture
def raw():
    """The official archives."""
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "flickr8k"
    if not raw.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no flickr8k")
    return raw


@pytest.mark.real
def test_real_classes_are_listed_with_25_to_200_photographs(raw):
    with Archive(raw / flickr8k.TEXTS) as texts:
        found = classes(flickr8k._read_captions(texts.text(flickr8k.CAPTIONS)))
    sizes = Counter(found.values())
    assert sizes.keys() == WORDS.keys()
    assert (min(sizes.values()), max(sizes.values())) == (25, 200)
    listed = raw.parent / "flickr8k_classes" / "classes.csv"
    if not listed.is_file():
        pytest.skip("CROSSMODAL_MIRROR has no flickr8k_classes")
    with listed.open(newline="") as stream:
        assert found == {row["image"]: row["class"] for row in csv.DictReader(stream)}


@pytest.mark.real
def test_real_photographs_have_five_captions_and_one_class(raw, tmp_path):
    prepare(PrepareSpec(plugin="flickr8k", options=OPTIONS), raw, tmp_path / "prepared")
    dataset = Prepared(tmp_path / "prepared")
    expected = plugins.make("datasets", "flickr8k", OPTIONS, "datasets.flickr8k").counts()
    assert Counter(dataset.splits.values()) == expected
    assert len(dataset.captions) == 5 * len(dataset.items)
    assert {item.labels for item in dataset.items} == {(name,) for name in WORDS}
