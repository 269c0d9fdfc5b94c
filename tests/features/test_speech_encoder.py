import numpy as np
import pytest

pytest.importorskip("transformers")

from crossmodal.data.own_items import OwnItems
from crossmodal.errors import CrossmodalError
from crossmodal.features.speech_encoder import SpeechEncoder
from tests.features.test_speech_transformer import spoken
from tests.pretrained.test_frame_encoder import write_model

pytestmark = pytest.mark.usefixtures("cpu")


@pytest.fixture
def made(tmp_path):
    """Makes features of a tiny encoder."""

    def make(kind="wav2vec2", rows="mean", **options):
        feature = SpeechEncoder(weights=f"{kind}.safetensors", rows=rows, **options)
        feature.setup(write_model(tmp_path / feature.weights, kind))
        return feature

    return make


def extracted(feature, clips):
    own = OwnItems(speech=clips)
    return feature.extract(own, feature.rows(own), {})


@pytest.mark.parametrize("kind", ["wav2vec2", "whisper"])
def test_vectors_are_moments_of_the_sequence(made, kind):
    clips = spoken(3000, 16_000, 100)
    sequences = extracted(made(kind, "sequence"), clips)
    assert [s.dtype for s in sequences] == [np.float16] * 3
    means = np.stack([s.astype(float).mean(0) for s in sequences])
    deviations = np.stack([s.astype(float).std(0) for s in sequences])
    found = extracted(made(kind, "statistics"), clips)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.hstack([means, deviations]), atol=2e-3)
    np.testing.assert_array_equal(extracted(made(kind), clips), found[:, :16])


@pytest.mark.parametrize("kind", ["wav2vec2", "whisper"])
def test_other_clips_and_threads_make_no_difference(made, kind):
    clips, feature = spoken(3000, 20_000, 9_000, 700), made(kind, "statistics")
    together = extracted(feature, clips)
    for row, clip in enumerate(clips):
        np.testing.assert_array_equal(extracted(feature, [clip])[0], together[row])
    feature.threads = 1
    feature.setup(feature.path)
    np.testing.assert_array_equal(extracted(feature, clips), together)


def test_clips_are_resampled_and_cut(made):
    assert len(extracted(made("whisper", "sequence"), spoken(8_000, rate=8_000))[0]) == 50
    cut = made("whisper", "sequence", seconds=0.5)
    assert len(extracted(cut, spoken(50_000))[0]) == 25


def test_its_options_say_what_it_is():
    shapes = {"mean": "vector", "statistics": "vector", "sequence": "sequence"}
    for rows, shape in shapes.items():
        assert SpeechEncoder(weights="a--b.safetensors", rows=rows).shape == shape


def test_a_layer_that_the_encoder_lacks_is_refused(made):
    with pytest.raises(CrossmodalError, match="has 2 layers, not 3; correct `layers`"):
        made(layers=[3])
