import warnings

import pytest

from crossmodal.config import plugins
from crossmodal.data.known_words import check_known_words
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError

FEATURES = {
    "bow": {"size": 9, "weighting": "counts", "unit": "caption", "stop_words": True},
    "tokens": {"fit_on": ["train"], "min_count": 1, "bos": True},
}


@pytest.fixture(params=FEATURES)
def check(request, tmp_path):
    """Check captions, each (split, text), by a feature that they teach."""

    def check(captions):
        with Writer(tmp_path / "toy") as out:
            for number, (split, text) in enumerate(captions):
                out.item(f"{number}", split)
                out.caption(f"{number}#0", f"{number}", text, b"audio")
        dataset = Prepared(tmp_path / "toy")
        feature = plugins.make("features", request.param, FEATURES[request.param], "features.f")
        feature.fit(dataset, {})
        check_known_words("features.f", feature, dataset)

    return check


KNOWN = [("train", "dog runs"), ("test", "dog")] * 49


@pytest.mark.parametrize("strange", [0, 1, 2])
def test_a_few_captions_without_a_known_word_are_no_matter(check, strange):
    with warnings.catch_warnings(action="error"):
        check(KNOWN + [("test", "zebra!")] * strange + [("test", "")] * 9)


def test_more_captions_without_a_known_word_are_warned_of(check):
    more = [("test", "zebra!"), ("test", "斑马"), ("test", "zebra!")]
    message = (
        r"^features\.f: knows no word of 3 of 101 captions of .*, "
        "for example 'zebra!', '斑马'; their rows say nothing$"
    )
    with pytest.warns(UserWarning, match=message):
        check(KNOWN + more)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_split_without_a_known_word_is_refused(check, split):
    message = rf"features\.f: knows no word of the 2 captions of split '{split}' of .*'斑马'"
    with pytest.raises(CrossmodalError, match=message):
        check([("train", "dog"), (split, "zebra"), (split, "斑马")])


def test_a_training_split_without_words_is_refused(check):
    with pytest.raises(CrossmodalError, match="split 'train'"):
        check([("train", "!"), ("test", "?")])
