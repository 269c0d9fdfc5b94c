import csv
import os
from pathlib import Path

import pytest

from crossmodal.features._language import guess_language

CAPTIONS = {
    "ar": ["قطة تجلس على الكرسي", "رجل يركب دراجة في الشارع"],
    "bg": ["Куче тича по плажа", "Жената със шапка се смее", "дете на люлка"],
    "de": ["Ein Hund läuft über die Straße", "Zwei Kinder spielen im Park"],
    "el": ["Ένας σκύλος τρέχει", "δύο παιδιά"],
    "en": ["A dog runs on the beach", "two children play in a park"],
    "es": ["Un perro corre por la playa", "dos niños juegan con una pelota y un perro"],
    "fa": ["یک سگ در پارک", "مردی که با دوچرخه است"],
    "fr": ["Un chien court sur la plage", "deux enfants avec un ballon dans le parc"],
    "he": ["כלב רץ על החוף"],
    "hi": ["एक कुत्ता दौड़ता है", "बच्चे पार्क में हैं"],
    "it": ["il cane corre sulla spiaggia", "una donna con un cappello nel parco"],
    "ja": ["犬が公園で走っている", "赤い車"],
    "km": ["ឆ្កែមួយ"],
    "ko": ["개가 해변을 달린다"],
    "lo": ["ໝາ ແລ່ນ"],
    "my": ["ခွေး"],
    "nl": ["een hond rent op het strand", "twee kinderen met een bal"],
    "pt": ["O cão corre na praia", "uma mulher com um chapéu"],
    "ru": ["Собака бежит по пляжу", "женщина в шляпе и ребёнок у стены"],
    "th": ["สุนัขวิ่งในสวน"],
    "uk": ["Собака біжить по пляжу", "жінка у капелюсі та дитина під деревом"],
    "zh": ["红色圆形", "一只狗在海滩上奔跑"],
}


@pytest.mark.parametrize("language", CAPTIONS)
def test_captions_have_the_language_that_they_are_in(language):
    assert guess_language(CAPTIONS[language]) == language


@pytest.mark.parametrize(
    "texts",
    [[], [""], ["123 !"], ["red ball", "beach hut"], ["Кіт", "Куче"], ["la casa", "un gat"]],
)
def test_what_is_not_clear_is_undetermined(texts):
    assert guess_language(texts) == "und"


@pytest.mark.real
@pytest.mark.parametrize(
    ("language", "expected"),
    [("es", "es"), ("fr", "fr"), ("ca", "ca"), ("en", "en"), ("bg", "und")],  # nouns alone
)
def test_real_captions_have_the_language_that_they_are_in(language, expected):
    path = Path(os.environ.get("CROSSMODAL_MIRROR", "none"), "tuxpaint_stamps", "items.csv")
    if not path.exists():
        pytest.skip("CROSSMODAL_MIRROR has no tuxpaint_stamps")
    with path.open(encoding="utf-8") as stream:
        rows = [*csv.DictReader(stream)]
    said = [r["english"] if language == "en" else r["text"] for r in rows]
    spoken = [text for text, r in zip(said, rows, strict=True) if language in ("en", r["language"])]
    assert guess_language(spoken) == expected
