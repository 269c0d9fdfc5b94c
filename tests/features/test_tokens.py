import random
import socket

import numpy as np
import pytest

from crossmodal import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.features.tokens import tokenise
from crossmodal.prepared import Prepared, Writer

OPTIONS = {
    "fit_on": ["train", "validation"],
    "min_count": 1,
    "lower": True,
    "bos": False,
    "eos": True,
}
CAPTIONS = [
    ("train", "A dog runs."),
    ("train", "The dog 's ball"),
    ("validation", "a cat sits"),
    ("test", "a cat sees an owl"),
]


@pytest.fixture
def encode(tmp_path):
    """Sequences and vocabulary of captions; each is (split, text)."""

    def run(captions, **options):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        with Writer(folder) as out:
            for index, (split, text) in enumerate(captions):
                out.item(f"{index}", split)
                out.caption(f"{index}#0", f"{index}", text, b"audio")
        dataset = Prepared(folder)
        feature = plugins.make("features", "tokens", OPTIONS | options, "features.t")
        feature.fit(dataset, {}, "")
        rows = feature.rows(dataset)
        return feature.extract(dataset, rows, {}), feature.learnt()["vocabulary"]

    return run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a dog runs. a cat sits.", "a|dog|runs|.|a|cat|sits|."),
        ("I can't see the man's hat", "i|ca|n't|see|the|man|'s|hat"),
        ('a "no entry" sign', "a|``|no|entry|''|sign"),
        ("wait ... at 5:30 p.m. today", "wait|...|at|5:30|p.m|.|today"),
        ("\u00a0black-and-white \uff24\uff4f\uff47\ufb01sh !", "black-and-white|dogfish|!"),
    ],
)
def test_captions_are_split_as_known(text, words):
    assert tokenise(text, lower=True) == words.split("|")


def test_needs_neither_network_nor_data_files(monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(socket, "socket", None)
    assert tokenise("It works. Yes!", lower=False) == ["It", "works", ".", "Yes", "!"]


def test_splitting_what_was_split_changes_nothing():
    for text in (
        "a man in a blue shirt's standing on a ladder , cleaning a window .",
        "two dogs (one brown, one white) don't play; they sleep.",
        "a girl says hi! her friend isn't there... is she?",
    ):
        words = tokenise(text, lower=True)
        assert tokenise(" ".join(words), lower=True) == words


def test_words_are_ordered_by_count_and_then_by_the_alphabet(encode):
    words = encode(CAPTIONS)[1]
    assert words[:4] == ["<pad>", "<unk>", "<eos>", "<bos>"]
    assert words[4:] == ["a", "dog", "'s", ".", "ball", "cat", "runs", "sits", "the"]
    shuffled = CAPTIONS.copy()
    random.Random(0).shuffle(shuffled)
    assert encode(shuffled)[1] == words


def test_words_of_the_test_split_are_unknown(encode):
    sequences, words = encode(CAPTIONS)
    assert {"sees", "an", "owl"}.isdisjoint(words)
    assert sequences[3].tolist() == [words.index("a"), words.index("cat"), 1, 1, 1, 2]


def test_fits_on_the_named_splits_alone(encode):
    words = encode(CAPTIONS, fit_on=["train"])[1]
    assert "dog" in words
    assert "cat" not in words


def test_rare_words_are_unknown(encode):
    sequences, words = encode(CAPTIONS, min_count=2)
    assert words[4:] == ["a", "dog"]
    assert sequences[0].tolist() == [4, 5, 1, 1, 2]


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("eos", [True, False])
def test_ids_decode_to_the_caption_between_its_marks(encode, bos, eos):
    sequences, words = encode(CAPTIONS[:3], bos=bos, eos=eos)
    for sequence, (_, text) in zip(sequences, CAPTIONS[:3], strict=True):
        expected = ["<bos>"] * bos + tokenise(text, lower=True) + ["<eos>"] * eos
        assert [words[id] for id in sequence] == expected
        assert sequence.dtype == np.int32


def test_case_is_kept_if_wanted(encode):
    words = encode(CAPTIONS, lower=False)[1]
    assert {"A", "a", "The"} < set(words)


def test_captions_without_text_have_no_row(encode):
    sequences, _ = encode([*CAPTIONS, ("train", ""), ("test", " ")])
    assert len(sequences) == len(CAPTIONS)
    with pytest.raises(CrossmodalError, match="no caption has text"):
        encode([("train", "")])


def test_the_test_split_cannot_be_fitted_on(encode):
    with pytest.raises(CrossmodalError, match=r"features\.t\.fit_on"):
        encode(CAPTIONS, fit_on=["test"])
