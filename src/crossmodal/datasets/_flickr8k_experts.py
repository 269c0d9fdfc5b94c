"""Judgements of Flickr8k's captions by experts: which describe photographs of other captions.

Lines of `ExpertAnnotations.txt` are an image, a caption `<image>#<number>` and three grades. 1 does
not describe the image at all, 3 almost describes it, with minor mistakes, 4 describes it.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from crossmodal.data.qrels import Judgement
from crossmodal.errors import CrossmodalError

EXPERTS = "ExpertAnnotations.txt"
GRADES = {"1", "2", "3", "4"}
ALMOST, BEST = 3, 2.0  # mean grade from which a caption counts; what one without mistakes counts

Pair = tuple[str, str]  # image and caption


def judgements(text: str, captions: Collection[str]) -> Iterator[Judgement]:
    """Yield judgements both ways: of captions for an image, and of images for a caption.

    A caption counts the mean of its three grades less 2 if that is at least 3, otherwise 0; the own
    captions of an image that was judged, and the own image of a caption, count 2 unless experts
    judged them, too.

    Args:
        text: Content of the file.
        captions: Ids of the captions of the dataset; lines on others are left out.

    Raises:
        CrossmodalError: If a line is another one.
    """
    judged = {pair: grade for pair, grade in _lines(text) if pair[1] in captions}
    own: dict[str, list[str]] = {}
    for caption in captions:
        own.setdefault(_item_of(caption), []).append(caption)
    images = dict.fromkeys(image for image, _ in judged if image in own)
    by_image = {(image, caption): BEST for image in images for caption in own[image]}
    by_caption = {(_item_of(caption), caption): BEST for _, caption in judged}
    stated = {pair: grade for pair, grade in judged.items() if pair[0] in own}
    yield from (Judgement(i, c, grade) for (i, c), grade in (by_image | stated).items())
    yield from (Judgement(c, i, grade) for (i, c), grade in (by_caption | stated).items())


def _lines(text: str) -> Iterator[tuple[Pair, float]]:
    for line, content in enumerate(text.splitlines(), 1):
        image, caption, *grades = [*content.split("\t"), ""]
        file, mark, number = caption.rpartition("#")
        wrong = len(grades) != 4 or not {*grades[:3]} <= GRADES
        if wrong or not (mark and number.isdigit()):
            raise CrossmodalError(
                f"{EXPERTS}: line {line}: {content!r} is not an image, <image>#<number> and three "
                "grades of 1 to 4, with tabs between"
            )
        mean = sum(map(int, grades[:3])) / 3
        pair = Path(image).stem, f"{Path(file).stem}#{number}"
        yield pair, mean - ALMOST + 1 if mean >= ALMOST else 0.0


def _item_of(caption: str) -> str:
    return caption.rpartition("#")[0]
