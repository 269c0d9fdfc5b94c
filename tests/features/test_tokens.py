import os
import random
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features._vocabulary import tokenise

OPTIONS = {
    "fit_on": ["train", "validation"],
    "min_count": 1,
    "bos": False,
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
        feature.fit(dataset, {})
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
        ("I can’t see the man’s hat", "i|ca|n't|see|the|man|'s|hat"),
        ("红色圆形。 tシャツ", "红|色|圆|形|。|t|シ|ャ|ツ"),
        ("एक कुत्ता है। दो", "एक|कुत्ता|है|।|दो"),
        ("هل هذه قطة؟", "هل|هذه|قطة|؟"),
        ("«черный кот» — здесь", "«|черный|кот|»|—|здесь"),
        ("\u00a0black-and-white \uff24\uff4f\uff47\ufb01sh !", "black-and-white|dogfish|!"),
    ],
)
def test_captions_are_split_as_known(text, words):
    assert [*tokenise(text)] == words.split("|")


def test_needs_neither_network_nor_data_files(monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(socket, "socket", None)
    assert tokenise("It works. Yes!") == ("it", "works", ".", "yes", "!")


def test_splitting_what_was_split_changes_nothing():
    for text in (
        "a man in a blue shirt's standing on a ladder , cleaning a window .",
        "two dogs (one brown, one white) don't play; they sleep.",
        "a girl says hi! her friend isn't there... is she?",
    ):
        words = tokenise(text)
        assert tokenise(" ".join(words)) == words


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
def test_ids_decode_to_the_caption_between_its_marks(encode, bos):
    sequences, words = encode(CAPTIONS[:3], bos=bos)
    for sequence, (_, text) in zip(sequences, CAPTIONS[:3], strict=True):
        expected = ["<bos>"] * bos + [*tokenise(text)] + ["<eos>"]
        assert [words[id] for id in sequence] == expected
        assert sequence.dtype == np.int32


def test_captions_without_text_have_no_row(encode):
    sequences, _ = encode([*CAPTIONS, ("train", ""), ("test", " ")])
    assert len(sequences) == len(CAPTIONS)
    with pytest.raises(CrossmodalError, match="no caption has text"):
        encode([("train", "")])


def test_the_test_split_cannot_be_fitted_on(encode):
    with pytest.raises(CrossmodalError, match=r"features\.t\.fit_on"):
        encode(CAPTIONS, fit_on=["test"])


@pytest.fixture(scope="module")
def sentences():
    """Split and text of all captions of Flickr8k's official splits."""
    path = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "flickr8k" / "Flickr8k_text.zip"
    if not path.exists():
        pytest.skip("CROSSMODAL_MIRROR has no flickr8k")
    with zipfile.ZipFile(path) as archive:
        lines = archive.read("Flickr8k.token.txt").decode().splitlines()
        splits = {
            image: split
            for split, part in (("train", "train"), ("validation", "dev"), ("test", "test"))
            for image in archive.read(f"Flickr_8k.{part}Images.txt").decode().split()
        }
    pairs = [line.split("\t") for line in lines]
    known = [(splits.get(key.split("#")[0]), text) for key, text in pairs]
    return [(split, text) for split, text in known if split]


@pytest.fixture(scope="module")
def words(sentences):
    """Words of each real caption, without a network and without NLTK's data."""
    import nltk

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [])
        patch.setattr(socket, "socket", None)
        return [(split, tokenise(text)) for split, text in sentences]


@pytest.mark.real
def test_real_captions_have_the_known_vocabulary(words):
    assert len(words) == 40_000
    vocabulary = {w for split, caption in words if split != "test" for w in caption}
    assert 8_000 < len(vocabulary) < 9_500
    test = [w for split, caption in words if split == "test" for w in caption]
    unknown = np.mean([w not in vocabulary for w in test])
    assert 0 < unknown < 0.02
    lengths = [len(caption) for _, caption in words]
    assert 11 < np.mean(lengths) < 13


@pytest.mark.real
def test_splitting_real_captions_again_changes_nothing(words):
    """But for a few: abbreviations, and quotes that have become opening and closing ones."""
    changed = [c for _, c in words[::10] if tokenise(" ".join(c)) != c]
    assert len(changed) < 0.005 * len(words[::10])


@pytest.mark.real
def test_real_captions_become_ids_and_words_again(encode, sentences):
    sample = sentences[::200]
    sequences, vocabulary = encode(sample)
    for sequence, (split, text) in zip(sequences, sample, strict=True):
        shown = [vocabulary[id] for id in sequence]
        expected = tokenise(text)
        assert shown[-1] == "<eos>"
        pairs = list(zip(shown[:-1], expected, strict=True))
        assert all(a == b or (a == "<unk>" and split == "test") for a, b in pairs)
