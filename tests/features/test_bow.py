import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.features._stop_words import STOP_WORDS
from crossmodal.features._words import words

OPTIONS = {"size": 6, "weighting": "counts", "unit": "item", "stop_words": False}
WORDS = [f"w{chr(97 + i)}" for i in range(12)]


@pytest.fixture
def bag(tmp_path):
    """Rows and vocabulary of documents; each is (split, captions)."""

    def run(documents, language="en", **options):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        with Writer(folder) as out:
            for index, (split, captions) in enumerate(documents):
                out.item(f"{index}", split)
                for number, text in enumerate(captions):
                    out.caption(f"{index}#{number}", f"{index}", text, b"audio")
        dataset = Prepared(folder)
        feature = plugins.make("features", "bow", OPTIONS | options, "features.b")
        feature.language = language
        feature.fit(dataset, {})
        rows = feature.rows(dataset)
        return feature.extract(dataset, rows, {}), feature.learnt()["vocabulary"]

    return run


def train(*texts):
    return [("train", [text]) for text in texts]


def random_texts(rng, documents):
    counts = rng.poisson(0.7, (documents, len(WORDS)))
    counts[0] = 0
    return [" ".join(np.repeat(WORDS, row)) for row in counts]


def test_tf_idf_of_two_documents_in_closed_form(bag):
    rows, words = bag(train("ant ant bee", "bee cat"), size=3, weighting="tfidf")
    order = [words.index(word) for word in ("ant", "bee", "cat")]
    expected = [[0.942156, 0.335176, 0], [0, 0.579739, 0.814802]]
    np.testing.assert_allclose(rows[:, order], expected, atol=1e-6)


@pytest.mark.parametrize("weighting", ["counts", "binary", "tfidf"])
def test_agrees_with_sklearn(bag, weighting):
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    texts = random_texts(np.random.default_rng(0), 40)
    rows, words = bag(train(*texts), size=len(WORDS), weighting=weighting)
    pattern = {"token_pattern": r"\S+", "vocabulary": words}
    oracle = {
        "counts": CountVectorizer(**pattern),
        "binary": CountVectorizer(binary=True, **pattern),
        "tfidf": TfidfVectorizer(**pattern),
    }[weighting]
    expected = oracle.fit_transform(texts).toarray()
    # float32 is what is stored; an empty document is the first
    np.testing.assert_allclose(rows, expected.astype(np.float32), rtol=2e-7)
    assert not rows[0].any()


def test_words_are_ordered_by_count_and_then_by_the_alphabet(bag):
    texts = ["dog cat", "cat bee ant", "dog"]
    assert bag(train(*texts))[1] == ["cat", "dog", "ant", "bee"]
    assert bag(train(*texts[::-1]))[1] == ["cat", "dog", "ant", "bee"]


def test_the_order_of_tokens_does_not_matter(bag):
    rows, _ = bag(train("ant bee cat ant", "cat ant ant bee"))
    assert np.array_equal(rows[0], rows[1])


def test_a_document_twice_doubles_counts_and_keeps_tf_idf(bag):
    once = train("ant bee", "bee cat cat")
    twice = [*once, ("test", ["bee cat cat"] * 2)]
    counts, _ = bag(twice)
    assert np.array_equal(counts[2], 2 * counts[1])
    weighted, _ = bag(twice, weighting="tfidf")
    np.testing.assert_allclose(weighted[2], weighted[1], rtol=1e-6)


def test_other_splits_change_neither_vocabulary_nor_weights(bag):
    known = train("ant bee", "bee cat")
    rows, words = bag(known, weighting="tfidf")
    others = [("test", ["owl ant owl owl"]), ("validation", ["cat cat fox"])]
    more, more_words = bag(known + others, weighting="tfidf")
    assert words == more_words
    assert np.array_equal(rows, more[:2])


@pytest.mark.parametrize("weighting", ["counts", "binary", "tfidf"])
def test_unknown_words_alone_are_a_row_of_zeros(bag, weighting):
    rows, _ = bag([*train("ant bee"), ("test", ["owl fox"]), ("test", [])], weighting=weighting)
    assert not rows[1:].any()


def test_missing_words_are_columns_of_zeros(bag):
    rows, words = bag(train("ant ant bee"), size=5)
    assert words == ["ant", "bee"]
    assert rows.tolist() == [[2, 1, 0, 0, 0]]


def test_one_word_is_the_most_frequent(bag):
    rows, words = bag(train("bee ant ant", "bee bee"), size=1)
    assert (words, rows.tolist()) == (["bee"], [[1], [2]])


def test_a_document_is_an_item_or_a_caption(bag):
    documents = [("train", ["ant bee", "bee"]), ("train", ["bee cat"])]
    items, words = bag(documents, size=3)
    assert words == ["bee", "ant", "cat"]
    assert items.tolist() == [[2, 1, 0], [1, 0, 1]]
    captions, _ = bag(documents, size=3, unit="caption")
    assert captions.tolist() == [[1, 1, 0], [1, 0, 0], [1, 0, 1]]
    # bee is in 2 of 2 items, but in 3 of 3 captions: the rare words' weights differ
    weighted = [bag(documents, size=3, weighting="tfidf", unit=u)[0] for u in ("item", "caption")]
    assert weighted[0][1, 2] != weighted[1][2, 2]


def test_text_is_normalised_and_split_into_words(bag):
    text = "The DOG's ﬁve x-rays; 24 b2b cafés"
    _, words = bag(train(text), size=20)
    assert sorted(words) == sorted(["the", "dog's", "five", "x", "rays", "b2b", "cafés"])
    _, words = bag(train(text), size=20, stop_words=True)
    assert sorted(words) == sorted(["dog's", "five", "rays", "b2b", "cafés"])


@pytest.mark.parametrize("language", ["de", "und", "zh-Hans", "enm"])
def test_stop_words_of_english_are_words_of_other_languages(bag, language):
    text = "Was an der A 7"
    found = bag(train(text), language, size=9, stop_words=True)[1]
    assert sorted(found) == ["a", "an", "der", "was"]
    for english in ("en", "en-GB", "EN"):
        assert bag(train(text), english, size=9, stop_words=True)[1] == ["der"]


def test_single_letters_of_other_scripts_are_words(bag):
    assert sorted(bag(train("a 狗 x"), size=9, stop_words=True)[1]) == ["狗"]


def test_stop_words_are_what_the_tokeniser_can_make():
    assert all(words(word) == (word,) for word in STOP_WORDS)
    assert {"the", "of", "don't"} < STOP_WORDS
    assert not {"dog", "red", "two", "man", "above"} & STOP_WORDS


def test_cosines_of_rows_lie_between_zero_and_one(bag):
    texts = random_texts(np.random.default_rng(1), 30)
    rows, _ = bag(train(*texts), weighting="tfidf")
    cosines = rows @ rows.T
    assert cosines.min() >= 0
    assert cosines.max() <= 1 + 1e-6


def test_each_caption_is_cut_into_words_once(bag):
    words.cache_clear()
    bag([("train", ["A red dog.", "A blue cat."]), ("test", ["A dog."])])
    assert words.cache_info().misses == 3


def test_words_and_weights_of_another_size_are_refused():
    feature = plugins.make("features", "bow", OPTIONS, "features.b")
    feature.restore({"vocabulary": ["dog"], "inverse_frequency": [1.0] * 6})
    for vocabulary, weights in ((["dog"], 5), ([*"abcdefg"], 6)):
        with pytest.raises(ValueError, match="but size is 6"):
            feature.restore({"vocabulary": vocabulary, "inverse_frequency": [1.0] * weights})
