import re

import numpy as np
import pytest

from crossmodal.rendering import grammar
from crossmodal.rendering.grammar import captions
from crossmodal.rendering.scene import CATEGORIES, random_scene

COUNT = 5


def pattern(vocabulary):
    """Finds the words of a vocabulary, and what each of them stands for."""
    meaning = {word: name for name, words in vocabulary.items() for word in words}
    longest_first = sorted(meaning, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(longest_first)})\b"), meaning


def said(text, vocabulary):
    words, meaning = pattern(vocabulary)
    return [meaning[word] for word in words.findall(text)]


def about_the_scene(text):
    """A caption without its distractors."""
    text = re.sub(" but no .*", "", text)
    return re.sub("|".join(grammar.FILLERS), "", text)


@pytest.fixture(scope="module")
def described():
    rng = np.random.default_rng(11)
    scenes = [random_scene(CATEGORIES[n % len(CATEGORIES)], rng) for n in range(300)]
    return [(scene, captions(scene, COUNT, rng)) for scene in scenes]


@pytest.fixture(scope="module")
def sentences(described):
    return [(scene, about_the_scene(text)) for scene, texts in described for text in texts]


def test_captions_of_a_scene_differ(described):
    assert all(len(set(texts)) == COUNT for _, texts in described)


def test_what_a_caption_says_is_in_the_scene(sentences):
    attributes = {"category": grammar.NOUNS, **grammar.ADJECTIVES}
    for scene, text in sentences:
        for attribute, vocabulary in attributes.items():
            there = {getattr(thing, attribute) for thing in scene.things}
            assert set(said(text, vocabulary)) <= there, text
        assert set(said(text, grammar.SETTINGS)) <= {scene.background}


def test_a_caption_names_one_to_three_things_and_never_all(sentences):
    named = [(len(said(text, grammar.NOUNS)), len(scene.things)) for scene, text in sentences]
    assert {count for count, _ in named} == {1, 2, 3}
    assert all(count < things for count, things in named)


def test_caption_adjectives_of_one_thing_belong_to_it(sentences):
    for scene, text in sentences:
        categories = said(text, grammar.NOUNS)
        if len(categories) == 1:
            assert any(
                thing.category == categories[0]
                and all(
                    set(said(text, words)) <= {getattr(thing, attribute)}
                    for attribute, words in grammar.ADJECTIVES.items()
                )
                for thing in scene.things
            ), text


def test_relation_between_two_things_is_true(sentences):
    checked = 0
    for scene, text in sentences:
        nouns = said(text, grammar.NOUNS)
        found = re.findall(r"\b(above|below|in front of|behind)\b", text)
        inverted = re.search(r"(?<!that) is | stands ", text)
        one_of_each = len(scene.labels) == len(scene.things)
        if len(nouns) == 2 and len(found) == 1 and not inverted and one_of_each:
            first, second = (next(t for t in scene.things if t.category == n) for n in nouns)
            assert scene.relation(first, second) == found[0], text
            checked += 1
    assert checked > 20


def test_negated_category_is_not_in_the_scene(described):
    negated = [
        (scene, *said(text.split(" but no ")[1], grammar.NOUNS))
        for scene, texts in described
        for text in texts
        if " but no " in text
    ]
    assert len(negated) > 20
    assert all(category not in scene.labels for scene, category in negated)


def test_most_captions_name_the_primary_category_but_not_all(sentences):
    named = [scene.primary.category in said(text, grammar.NOUNS) for scene, text in sentences]
    assert 0.5 < np.mean(named) < 0.9


def test_every_word_of_the_grammar_is_used(described):
    text = "\n".join(text for _, texts in described for text in texts)
    tables = (grammar.NOUNS, *grammar.ADJECTIVES.values(), grammar.SETTINGS, grammar.RELATIONS)
    options = [option for table in tables for words in table.values() for option in words]
    options += [*grammar.OPENERS, *grammar.FILLERS, *grammar.CONJUNCTIONS]
    assert [option for option in options if option not in text] == []


def test_articles_agree_with_the_next_word(described):
    text = "\n".join(text for _, texts in described for text in texts)
    assert not re.search(r"\ba [aeio]", text)
    assert not re.search(r"\ban [^aeio]", text)
