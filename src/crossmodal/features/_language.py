"""A guess of the language of captions, by their script and their function words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

import regex

from crossmodal.features._words import words

UNKNOWN = "und"  # BCP 47: undetermined
READ = 2000  # texts
# share of the letters from which on a script decides; Japanese mixes its own with Chinese ones
SCRIPTS = {
    r"\p{Hiragana}\p{Katakana}": ("ja", 0.1),
    r"\p{Han}": ("zh", 0.5),
    r"\p{Hangul}": ("ko", 0.5),
    r"\p{Thai}": ("th", 0.5),
    r"\p{Lao}": ("lo", 0.5),
    r"\p{Khmer}": ("km", 0.5),
    r"\p{Myanmar}": ("my", 0.5),
    r"\p{Greek}": ("el", 0.5),
    r"\p{Hebrew}": ("he", 0.5),
}
FUNCTION_WORDS = {
    "ar": "في من على إلى مع و هذا هذه التي الذي",
    "bg": "и в на с по за от се да е под със",
    "ca": "el la els les un una i de del amb en és per que al dels dos",
    "de": "der die das ein eine einen einem und im auf mit ist von den dem zu",
    "en": "the a an of and in on with is are at to his her by from",
    "es": "el la los las un una unos y en con de del es por que al dos su hombre",
    "fa": "در و به از که را با یک این است",
    "fr": "le la les un une des du et est dans sur avec au aux en qui de à",
    "hi": "है में के और एक का की पर हैं से",
    "it": "il lo la gli le un una e di del della in con su che è nel sulla due",
    "nl": "de het een en van op met in is aan zijn die twee",
    "pt": "o a os as um uma e de do da em no na com que é dois",
    "ru": "и в на с у из за не по он она под со",
    "uk": "і в на з та у по до не що є під зі",
}
LEAST = 0.1  # weight of the words of a language, a word of several counting in parts
LEAD = 1.2  # over the next language


def guess_language(texts: Iterable[str]) -> str:
    """Return the language of texts by BCP 47, `und` where it is not clear.

    Args:
        texts: Captions, of which the first are read.
    """
    text = "\n".join(islice(texts, READ))
    letters = len(regex.findall(r"\p{L}", text))
    for script, (language, share) in SCRIPTS.items():
        if letters and len(regex.findall(rf"[{script}]", text)) > share * letters:
            return language
    return _by_words(words(text))


def _by_words(tokens: Sequence[str]) -> str:
    lists = {language: {*text.split()} for language, text in FUNCTION_WORDS.items()}
    languages = Counter(word for each in lists.values() for word in each)
    weights = {
        language: sum(1 / languages[word] for word in tokens if word in each)
        for language, each in lists.items()
    }
    (first, most), (_, next_most) = Counter(weights).most_common(2)
    return first if most > max(LEAST * len(tokens), LEAD * next_most) else UNKNOWN
