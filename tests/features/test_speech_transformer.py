import io
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
import torch

from crossmodal.config import plugins
from crossmodal.data.own_items import OwnItems
from crossmodal.errors import CrossmodalError
from crossmodal.features.speech_transformer import SpeechTransformer
from crossmodal.pretrained import wav2vec2
from tests.pretrained.test_wav2vec2 import tiny

OPTIONS = {
    "network": "hubert_base",
    "weights": "random",
    "layers": [1, 3],
    "rows": "vector",
    "seconds": 2.0,
    "seed": 0,
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Networks of the smallest size, on the processor."""
    facts = SimpleNamespace(_params=tiny(), _normalize_waveform=False)
    monkeypatch.setattr(wav2vec2, "pipeline", lambda name: facts)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def spoken(*lengths, rate=16_000):
    """Clips of noise of so many samples."""
    rng, clips = np.random.default_rng(0), []
    for length in lengths:
        stream = io.BytesIO()
        soundfile.write(stream, rng.normal(0, 0.1, length).clip(-1, 1), rate, format="WAV")
        clips.append(stream.getvalue())
    return clips


def extracted(clips, **changes):
    feature = SpeechTransformer(**OPTIONS | changes)
    feature.setup(None)
    own = OwnItems(speech=clips)
    return feature.extract(own, feature.rows(own), {})


def test_a_vector_is_the_mean_of_its_sequence():
    clips = spoken(3000, 16_000, 100)
    vectors, sequences = extracted(clips), extracted(clips, rows="sequence")
    assert vectors.shape == (3, 16)
    assert vectors.dtype == np.float32
    assert [len(s) for s in sequences] == [1 + (3000 - 400) // 320, 49, 1]
    assert all(s.dtype == np.float16 for s in sequences)
    means = np.stack([s.astype(float).mean(0) for s in sequences])
    np.testing.assert_allclose(vectors, means, atol=2e-3)


def test_other_clips_and_threads_make_no_difference():
    clips = spoken(3000, 20_000, 9_000)
    together, feature = extracted(clips), SpeechTransformer(**OPTIONS)
    for row, clip in enumerate(clips):
        np.testing.assert_array_equal(extracted([clip])[0], together[row])
    feature.threads = 1
    feature.setup(None)
    own = OwnItems(speech=clips)
    np.testing.assert_array_equal(feature.extract(own, feature.rows(own), {}), together)


def test_clips_are_resampled_and_cut():
    assert len(extracted(spoken(8_000, rate=8_000), rows="sequence")[0]) == 49
    assert len(extracted(spoken(50_000), rows="sequence", seconds=0.5)[0]) == 24


def test_its_options_say_what_it_is():
    assert SpeechTransformer(**OPTIONS).shape == "vector"
    assert SpeechTransformer(**OPTIONS | {"rows": "sequence"}).shape == "sequence"
    assert SpeechTransformer(**OPTIONS).weights == ""
    official = SpeechTransformer(**OPTIONS | {"weights": "official"}).weights
    assert official == "hubert_fairseq_base_ls960.safetensors"
    assert SpeechTransformer(**OPTIONS | {"weights": "a.safetensors"}).weights == "a.safetensors"


def test_a_layer_that_the_network_lacks_is_refused():
    with pytest.raises(CrossmodalError, match="layers: hubert_base has 12, not 13"):
        plugins.make("features", "speech_transformer", OPTIONS | {"layers": [13]}, "features.f")


def test_other_weights_are_refused():
    feature = SpeechTransformer(**OPTIONS)
    feature.setup(None)
    with pytest.raises(CrossmodalError, match="random weights: SHA-256 is none"):
        feature.restore({"weights": "a.safetensors", "sha256": "0" * 64})
