import random
import re
import string
import unicodedata

import pytest

from crossmodal.features._vocabulary import tokenise
from crossmodal.features._words import normalised, words

ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

CAPTIONS = {
    "ar": ("قِطّة تجلس على الكرسي", "قِطّة تجلس على الكرسي"),
    "bg": ("Куче тича по плажа.", "куче тича по плажа"),
    "bn": ("একটি কুকুর দৌড়াচ্ছে।", "একটি কুকুর দৌড়াচ্ছে"),
    "ca": ("La col·lecció d’ocells", "la col·lecció d'ocells"),
    "de": ("Ein Hund läuft über die Straße", "ein hund läuft über die straße"),
    "el": ("Ένας σκύλος: ΣΟΦΟΣ", "ένας σκύλος σοφος"),
    "es": ("¿Dónde está el niño?", "dónde está el niño"),
    "fa": ("من می‌خواهم بدوم", "من میخواهم بدوم"),
    "fr": ("L’éléphant naïf, à Zürich", "l'éléphant naïf à zürich"),
    "he": ("כלב של צה״ל רץ", "כלב של צה״ל רץ"),
    "hi": ("एक कुत्ता दौड़ता है।", "एक कुत्ता दौड़ता है"),
    "ja": ("赤いTシャツ、犬", "赤 い 赤い t シ ャ ツ シャ ャツ 犬"),
    "km": ("ឆ្កែមួយ", "ឆ្ កែ មួ យ ឆ្កែ កែមួ មួយ"),
    "ko": ("개가 해변을 달린다", "개가 해변을 달린다"),
    "lo": ("ໝາ ແລ່ນ", "ຫ ມ າ ຫມ ມາ ແ ລ່ ນ ແລ່ ລ່ນ"),
    "my": ("ခွေး", "ခွေး"),
    "ru": ("Красный круг на стене", "красный круг на стене"),
    "ta": ("ஒரு நாய் ஓடுகிறது", "ஒரு நாய் ஓடுகிறது"),
    "th": ("สุนัขวิ่ง", "สุ นั ข วิ่ ง สุนั นัข ขวิ่ วิ่ง"),
    "vi": ("Một con chó chạy", "một con chó chạy"),
    "zh": ("红色圆形。", "红 色 圆 形 红色 色圆 圆形"),
}


@pytest.mark.parametrize("language", CAPTIONS)
def test_captions_have_the_words_of_their_language(language):
    text, expected = CAPTIONS[language]
    assert [*words(text)] == normalised(expected).split()


@pytest.mark.parametrize("language", CAPTIONS)
def test_both_unicode_forms_have_the_same_words(language):
    text, _ = CAPTIONS[language]
    decomposed = unicodedata.normalize("NFD", text)
    assert words(decomposed) == words(text)
    assert tokenise(decomposed) == tokenise(text)


@pytest.mark.parametrize("language", CAPTIONS)
def test_the_words_of_words_are_the_same(language):
    text, _ = CAPTIONS[language]
    assert all(word in words(word) for word in words(text))


@pytest.mark.parametrize("language", CAPTIONS)
def test_tokens_keep_every_letter_and_mark(language):
    text, _ = CAPTIONS[language]
    assert "".join(tokenise(text)) == "".join(normalised(text).lower().split())


def test_words_of_ascii_are_those_of_the_plain_expression():
    rng = random.Random(0)
    signs = string.ascii_letters * 2 + string.digits + "  ''" + string.printable
    for _ in range(3000):
        text = "".join(rng.choices(signs, k=rng.randrange(40)))
        assert [*words(text)] == ASCII_WORD.findall(text.lower()), text


@pytest.mark.parametrize("sign", ["’", "ʼ", "´", "＇"])
def test_apostrophes_are_one(sign):
    assert words(f"don{sign}t") == ("don't",)
    assert tokenise(f"don{sign}t") == ("do", "n't")


def test_invisible_letters_are_left_out_but_not_spaces():
    assert words("run\u00adning \ufeffdog\u200e") == ("running", "dog")
    assert words("ឆ្កែ\u200bមួយ") == (*words("ឆ្កែ"), *words("មួយ"))


def test_marks_and_pictures_are_no_words():
    assert words("🐶 … — ½ _ (!)") == ("1", "2")


def test_words_of_joined_captions_are_those_of_each():
    texts = [text for text, _ in CAPTIONS.values()]
    each = (word for text in texts for word in words(text))
    assert words(" ".join(texts)) == tuple(each)
