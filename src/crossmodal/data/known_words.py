"""A check that a feature of words knows words of the captions that it describes."""

import warnings
from collections import defaultdict

from crossmodal.data.feature import Feature
from crossmodal.data.prepared import Caption, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.text_table import shorten

MOST = 0.02  # share of captions without a known word that is no matter
EXAMPLES = 5
LETTERS = 60  # of an example


def check_known_words(where: str, feature: Feature, dataset: Prepared) -> None:
    """Warn of captions without a known word where they are more than a few.

    Args:
        where: Address of the feature, for messages.
        feature: It has learnt its words.
        dataset: The prepared dataset.

    Raises:
        CrossmodalError: If no caption of a split has a known word.
    """
    if feature.words("") is None:
        return
    captions = [caption for caption in dataset.captions if caption.text.strip()]
    wordless = [c for c in captions if not any((feature.words(c.text) or {}).values())]
    sizes, lacking = (_by_split(dataset, some) for some in (captions, wordless))
    for split, part in lacking.items():
        if len(part) == len(sizes[split]):
            raise CrossmodalError(
                f"{where}: knows no word of the {len(part)} captions of split {split!r} of "
                f"{dataset.name}, {_examples(part)}; choose another feature of text, or options "
                "by which it learns more words"
            )
    if len(wordless) > MOST * len(captions):
        warnings.warn(
            f"{where}: knows no word of {len(wordless)} of {len(captions)} captions of "
            f"{dataset.name}, {_examples(wordless)}; their rows say nothing",
            stacklevel=2,
        )


def _by_split(dataset: Prepared, captions: list[Caption]) -> dict[str, list[Caption]]:
    parts = defaultdict(list)
    for caption in captions:
        parts[dataset.splits[caption.item]].append(caption)
    return parts


def _examples(captions: list[Caption]) -> str:
    texts = dict.fromkeys(shorten(c.text, LETTERS) for c in captions)
    return "for example " + ", ".join(map(repr, [*texts][:EXAMPLES]))
