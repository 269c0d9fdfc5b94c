"""Words of texts in any script.

A word is a run of letters, digits and their marks, with what follows one apostrophe. In scripts
without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) it is a character with its marks; bags
of words, which see no order, count pairs of neighbours too.
"""

import functools
import sys
import unicodedata
from itertools import pairwise

import regex

REMEMBERED = 1 << 17  # texts: extraction asks for the words of each three times
# of letters that end at a line's end as they please: Unicode's Script and Line_Break
UNSPACED = r"[[\p{Han}\p{Hiragana}\p{scx=Katakana}\p{LB=SA}]&&[\p{L}\p{N}]]"
JOINER = "·‧׳״"  # of Catalan and Hebrew words
_LETTER = rf"[\p{{L}}\p{{N}}--{UNSPACED}]"
_RUN = rf"{_LETTER}[{_LETTER}\p{{M}}]*"

TYPED = str.maketrans("’ʼ´‐‑", "'''--")  # as on a keyboard
INVISIBLE = regex.compile(r"(?V1)[\p{Cf}--[\u200B]]")  # all but the space of width zero
CHARACTER = regex.compile(rf"(?V1){UNSPACED}\p{{M}}*")
WORD = regex.compile(
    rf"(?V1)(?:{UNSPACED}\p{{M}}*)+|{_RUN}(?:[{JOINER}]{_RUN})*(?:'[\p{{L}}\p{{M}}]+)?"
)
PUNCTUATION = regex.compile(r"[\p{P}`]+")
# what NLTK, which knows the marks of ASCII, leaves together
TOGETHER = regex.compile(rf"(?V1){UNSPACED}\p{{M}}*|[\p{{P}}--[\x00-\x7F{JOINER}]]")


def normalised(text: str) -> str:
    """Return a text in the form NFKC, with apostrophes and hyphens of ASCII."""
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text).translate(TYPED))


@functools.lru_cache(REMEMBERED)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, of scripts without spaces characters and pairs."""
    runs = WORD.findall(normalised(text).lower())
    return tuple(sys.intern(word) for run in runs for word in _parts(run))


def apart(text: str) -> str:
    """Return a text with spaces about characters of scripts without them, and about their marks."""
    return TOGETHER.sub(r" \g<0> ", text)


def is_punctuation(word: str) -> bool:
    """Return whether a word has punctuation marks alone."""
    return PUNCTUATION.fullmatch(word) is not None


def _parts(run: str) -> list[str]:
    """Return a word, or the characters and pairs of a run without spaces."""
    characters = [] if run.isascii() else CHARACTER.findall(run)
    return [*characters, *map("".join, pairwise(characters))] or [run]
