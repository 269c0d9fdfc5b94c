import io

import numpy as np
import pytest
import soundfile

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.logmel import LogMel
from crossmodal.features.spoken_words import SpokenWords

WORDS = {  # of the captions: 0, 1 and 3 are for training
    "0#0": [("two", 0.0, 0.2), ("red", 0.2, 0.5), ("dogs", 0.5, 0.9)],
    "1#0": [("red", 0.1, 0.3), ("cats", 0.3, 2.0)],
    "2#0": [("blue", 0.0, 0.4), ("dogs", 0.4, 0.404)],
    "3#0": [("red", 0.2, 0.6), ("dogs", 5.0, 6.0)],
}
SPLITS = ("train", "train", "validation", "train")


@pytest.fixture
def spoken(tmp_path):
    """Write clips of noise with the times of their words, or without."""

    def write(timed=True):
        rng = np.random.default_rng(0)
        with Writer(tmp_path) as out:
            for number, (split, words) in enumerate(zip(SPLITS, WORDS.values(), strict=True)):
                stream, samples = io.BytesIO(), 0.1 * rng.standard_normal(40_000).cumsum()
                soundfile.write(stream, samples.clip(-1, 1), 16_000, format="WAV")
                out.item(f"{number}", split)
                audio = "said", stream.getvalue(), ".wav"
                out.caption(f"{number}#0", f"{number}", *audio, words=words if timed else ())
                out.caption(f"{number}#1", f"{number}", "silent")
        return Prepared(tmp_path)

    return write


def made(dataset, **options):
    feature = SpokenWords(kind="logmel", **options)
    feature.setup(None)
    feature.fit(dataset, {})
    return feature


def test_frames_are_those_of_the_clip_word_by_word(spoken):
    dataset = spoken()
    feature, frames = made(dataset), LogMel(kind="logmel")
    frames.setup(None)
    clip = frames.extract(dataset, frames.rows(dataset)[:1], {})[0]
    found = feature.extract(dataset, feature.rows(dataset)[:1], {})[0]
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found[:, :40], clip[:90])
    np.testing.assert_array_equal(found[:, 40], [*range(20), *range(30), *range(40)])
    names = [feature.vocabulary[int(number) - 1] for number in found[[0, 20, 50], 41]]
    assert names == ["two", "red", "dogs"]


def test_words_of_the_training_split_have_a_number(spoken):
    feature = made(spoken())
    assert feature.vocabulary == ["red", "dogs", "cats", "two"]
    few = made(spoken(), vocabulary=2)
    assert few.vocabulary == ["red", "dogs"]
    validation = few.extract(spoken(), few.rows(spoken())[2:3], {})[0]
    assert validation[0, 41] == 0  # blue
    assert validation[-1, 41] == 2


def test_long_words_are_cut_and_short_ones_have_a_frame(spoken):
    dataset = spoken()
    feature = made(dataset, word_frames=25)
    rows = feature.extract(dataset, feature.rows(dataset), {})
    lengths = [np.diff(np.append(np.flatnonzero(x[:, 40] == 0), len(x))).tolist() for x in rows]
    assert lengths == [[20, 25, 25], [20, 25], [25, 1], [25, 1]]


def test_a_word_behind_the_clip_has_its_last_frame(spoken):
    dataset = spoken()
    feature, frames = made(dataset), LogMel(kind="logmel")
    frames.setup(None)
    last = frames.extract(dataset, frames.rows(dataset)[3:], {})[0][-1]
    found = feature.extract(dataset, feature.rows(dataset)[3:], {})[0]
    np.testing.assert_array_equal(found[40, :40], last)


def test_a_file_gives_the_times_where_named(spoken, tmp_path):
    path = tmp_path / "mine.csv"
    lines = [f"{c},{w},{a},{b}" for c, words in WORDS.items() for w, a, b in words]
    path.write_text("\n".join(["caption,word,start,end", *lines[:-4]]) + "\n")
    own, timed = spoken(timed=False), spoken()
    feature = made(own, alignment=str(path))
    assert [row.id for row in feature.rows(own)] == ["0#0", "1#0"]
    assert feature.files == (str(path),)
    expected = made(timed)
    pair = [f.extract(timed, f.rows(timed)[:2], {}) for f in (feature, expected)]
    for found, wanted in zip(*pair, strict=True):
        np.testing.assert_array_equal(found[:, :41], wanted[:, :41])


def test_a_dataset_without_times_is_refused(spoken, tmp_path):
    with pytest.raises(CrossmodalError, match=r"words\.csv.*set `alignment`"):
        made(spoken(timed=False))
    path = tmp_path / "mine.csv"
    path.write_text("caption,word,start,end\nother,word,0,1\n")
    with pytest.raises(CrossmodalError, match=r"mine\.csv: has words of none of the captions"):
        made(spoken(), alignment=str(path))


def test_other_clips_are_cut_by_the_same_vocabulary(spoken):
    dataset = spoken()
    feature, other = made(dataset), SpokenWords(kind="logmel")
    other.setup(None)
    other.restore(feature.learnt())
    rows = feature.rows(dataset)
    for found, expected in zip(
        *(f.extract(dataset, rows, {}) for f in (other, feature)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
