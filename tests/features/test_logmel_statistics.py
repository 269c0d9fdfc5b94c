import io

import numpy as np
import pytest
import soundfile

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.logmel import LogMel
from crossmodal.features.logmel_statistics import LogMelStatistics

LENGTHS = (9000, 16_000, 12_345, 100, 30_000, 0)  # samples; two frames and one are the shortest
SPLITS = ("train", "train", "train", "train", "validation", "test")


@pytest.fixture
def spoken(tmp_path):
    """Six clips of noise of different lengths and colours, and a caption without audio."""
    rng = np.random.default_rng(0)
    with Writer(tmp_path) as out:
        for number, (length, split) in enumerate(zip(LENGTHS, SPLITS, strict=True)):
            stream, samples = io.BytesIO(), 0.1 * rng.standard_normal(length).cumsum()
            soundfile.write(stream, samples.clip(-1, 1), 16_000, format="WAV")
            out.item(f"{number}", split)
            out.caption(f"{number}#0", f"{number}", "said", stream.getvalue(), ".wav")
            out.caption(f"{number}#1", f"{number}", "written")
    return Prepared(tmp_path)


def extracted(dataset, parts=3, rows=slice(None)):
    feature = LogMelStatistics(kind="logmel", frames=2048, parts=parts)
    feature.setup(None)
    feature.fit(dataset, {})
    return feature.extract(dataset, feature.rows(dataset)[rows], {})


def test_columns_are_standardised_moments_of_the_parts(spoken):
    frames = LogMel(kind="logmel", frames=2048)
    frames.setup(None)
    expected = []
    for sequence in frames.extract(spoken, frames.rows(spoken), {}):
        times = np.arange(len(sequence))
        columns = []
        for part in range(3):
            # a frame is in a part if its interval of time overlaps the part's
            start, stop = (edge * len(sequence) / 3 for edge in (part, part + 1))
            inside = (times + 1 > start) & (times < stop)
            mine = sequence[inside].astype(float)
            columns += [mine.mean(0), mine.std(0)]
        expected.append(np.concatenate(columns))
    train = np.array(expected)[:4]
    expected = (np.array(expected) - train.mean(0)) / train.std(0)
    found = extracted(spoken)
    assert found.shape == (6, 3 * 2 * 40)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=0.02)  # the sequences are float16
    np.testing.assert_allclose(found[:4].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(found[:4].std(0), 1, atol=1e-5)


def test_other_rows_make_no_difference(spoken):
    np.testing.assert_array_equal(extracted(spoken, rows=slice(4, 5)), extracted(spoken)[4:5])


def test_a_constant_column_is_zero(spoken, monkeypatch):
    """No part of the shortest clips has more than one frame: their deviations are zero."""
    only = {"3": "train", "5": "validation"}
    monkeypatch.setattr(spoken, "splits", {f"{n}": only.get(f"{n}", "test") for n in range(6)})
    found = extracted(spoken, parts=4)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[3], 0)


def test_training_clips_are_needed(spoken, monkeypatch):
    monkeypatch.setattr(spoken, "splits", dict.fromkeys(spoken.splits, "test"))
    with pytest.raises(CrossmodalError, match="no training caption has audio"):
        extracted(spoken)
