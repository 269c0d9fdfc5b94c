"""Words of all captions whose runs are kept: those of the former rule, which read ASCII alone."""

import os
import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from nltk.tokenize import NLTKWordTokenizer

from crossmodal.config import plugins
from crossmodal.data.prepared import Items
from crossmodal.data.writer import Writer
from crossmodal.datasets import scenes
from crossmodal.features._stop_words import STOP_WORDS
from crossmodal.features._vocabulary import SPECIAL, VocabularyFeature, tokenise
from crossmodal.features._words import words
from crossmodal.features.bow import BagOfWords
from tests.project_params import PARAMS

ROOT = Path(__file__).parents[2]
KEPT = [PARAMS.experiments[file.stem] for file in (ROOT / "docs/runs").glob("*.json")]
SILENT = {"scenes": {"spoken": 0}, "flickr8k": {"speech": "none"}}  # with the same captions
FILES = {"flickr8k": "flickr8k", "pascal_sentences": "pascal_sentences"}  # of the mirror


def made(name):
    """A feature of params.yaml."""
    given = PARAMS.plugin("features", name)
    return plugins.make("features", given["plugin"], given["options"], name)


def features_by_dataset():
    """Names of the features of words that kept runs of each dataset read."""
    found = {}
    for spec in KEPT:
        name = spec.views.get("text")
        if name and isinstance(made(name), BagOfWords | VocabularyFeature):
            found.setdefault(spec.dataset, set()).add(name)
    return found


FEATURES = dict(sorted(features_by_dataset().items()))


@cache
def former_words(text):
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?", unicodedata.normalize("NFKC", text).lower())


@cache
def former_tokens(text):
    sentences = re.split(r"(?<=[.!?])\s+", unicodedata.normalize("NFKC", text).strip().lower())
    return [word for each in sentences for word in NLTKWordTokenizer().tokenize(each)]


def former_vocabulary(feature, dataset):
    """By the definition: the most frequent words of the training captions, ties by the alphabet."""
    options, counts = feature.options, Counter()
    is_bag = isinstance(feature, BagOfWords)
    for caption in dataset.captions:
        if dataset.splits[caption.item] in (["train"] if is_bag else options.fit_on):
            counts.update((former_words if is_bag else former_tokens)(caption.text))
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    if not is_bag:
        return SPECIAL + [word for word in ordered if counts[word] >= options.min_count]
    told = [w for w in ordered if not (w.isdigit() or len(w) == 1 or w in STOP_WORDS)]
    return told[: options.size]


class Texts(Writer):
    """What a dataset says, without its pictures and sounds."""

    def _store(self, *_):
        return ""


def captions_of(name, raw):
    """The captions and splits of a dataset."""
    given = PARAMS.plugin("datasets", name)
    options = given["options"] | SILENT.get(given["plugin"], {})
    out = Texts("unwritten")
    plugins.make("datasets", given["plugin"], options, name).prepare(raw, out)
    captions = [*out.captions.values()]
    own = SimpleNamespace(
        name=name, items=[*out.items.values()], captions=captions, splits=out.splits
    )
    own.captions_of = Items.captions_of.func(own)
    return own


MARKS = {"scenes": (), "scenes_spoken": pytest.mark.long}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS.get(name, pytest.mark.real)) for name in FEATURES]
)
def test_words_and_vocabularies_are_those_of_the_former_rule(name, monkeypatch):
    # of two equal sentences, one former and one of today, NLTK is asked once
    split = staticmethod(cache(NLTKWordTokenizer().tokenize))
    monkeypatch.setattr(NLTKWordTokenizer, "tokenize", split)
    for step in ("draw", "jpeg"):
        monkeypatch.setattr(scenes, step, lambda *_: b"")
    monkeypatch.setattr(scenes, "in_processes", map)
    folder = FILES.get(PARAMS.plugin("datasets", name)["plugin"])
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none"), folder or "")
    if folder and not raw.exists():
        pytest.skip(f"CROSSMODAL_MIRROR has no {folder}")
    dataset = captions_of(name, raw)
    assert len(dataset.captions) > 4000
    for text in {caption.text for caption in dataset.captions}:
        assert [*words(text)] == former_words(text), text
        assert [*tokenise(text)] == former_tokens(text), text
    for each in FEATURES[name]:
        feature = made(each)
        fit = BagOfWords.fit if isinstance(feature, BagOfWords) else VocabularyFeature.fit
        fit(feature, dataset, {})
        assert feature.vocabulary == former_vocabulary(feature, dataset), each


def test_every_dataset_with_kept_words_is_compared():
    assert {name for name in FEATURES if name.startswith("scenes")} == {"scenes", "scenes_spoken"}
    assert {"flickr8k", "flickr8k_classes", "pascal_page"} < FEATURES.keys()
