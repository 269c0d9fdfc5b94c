import json
import os
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")
from transformers import AutoConfig, AutoModel

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import write_bundle
from crossmodal.pretrained.frame_encoder import FrameEncoder

SIZES = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 24, "conv_dim": [8] * 7, "num_conv_pos_embeddings": 8}
SIZES |= {"num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0}
WHISPER = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": 24}
WHISPER |= {"decoder_ffn_dim": 24, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
WHISPER |= {"vocab_size": 40, "num_mel_bins": 20, "max_source_positions": 1500}
WHISPER |= dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 1)
WHISPER |= {"decoder_start_token_id": 1}
CONFIGS = {
    "wav2vec2": SIZES,
    "hubert": SIZES,
    "wavlm": SIZES,
    "data2vec-audio": SIZES | {"conv_pos_kernel_size": 3},
    "whisper": WHISPER,
}
REAL = Path(os.environ.get("CROSSMODAL_MIRROR", ""), "weights/whisper_tiny_en_encoder.safetensors")


def network(kind):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **CONFIGS[kind])
    return AutoModel.from_config(config).eval()


def write_model(path, kind, state=None, **files):
    """A bundle of a network of random weights."""
    config = {"config.json": json.dumps(CONFIGS[kind] | {"model_type": kind})}
    write_bundle(path, state or network(kind).state_dict(), config | files, {})
    return path


def clip(samples, seed=0):
    return 0.1 * torch.randn(samples, generator=torch.Generator().manual_seed(seed)) + 0.3


@pytest.mark.parametrize("kind", sorted(CONFIGS.keys() - {"whisper"}))
@pytest.mark.parametrize("normalise", [False, True])
def test_frames_are_transformers_states(tmp_path, kind, normalise):
    extractor = {"feature_extractor_type": "Wav2Vec2FeatureExtractor", "do_normalize": normalise}
    files = {"preprocessor_config.json": json.dumps(extractor)}
    encoder = FrameEncoder(write_model(tmp_path / "w.safetensors", kind, **files), {})
    samples = clip(4000)
    heard = (samples - samples.mean()) / samples.std(correction=0) if normalise else samples
    with torch.inference_mode():
        states = network(kind)(heard[None], output_hidden_states=True)
    assert states.last_hidden_state.shape == (1, 1 + (4000 - 400) // 320, 16)
    last = encoder.frames(samples, [])
    torch.testing.assert_close(last, states.last_hidden_state[0], atol=1e-4, rtol=1e-3)
    mean = (states.hidden_states[1][0] + states.hidden_states[2][0]) / 2
    torch.testing.assert_close(encoder.frames(samples, [1, 2]), mean, atol=1e-4, rtol=1e-3)


def test_whisper_hears_the_clip_and_silence(tmp_path):
    encoder = FrameEncoder(write_model(tmp_path / "w.safetensors", "whisper"), {})
    samples = clip(4000)
    found = encoder.frames(samples, [])
    assert found.shape == (13, 16)  # of 20 ms each
    silent = torch.nn.functional.pad(samples, (0, 480_000 - 4000))
    torch.testing.assert_close(encoder.frames(silent, [])[:13], found)
    assert len(encoder.frames(silent, [])) == 1500


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("samples", [0, 1, 399])
def test_a_clip_has_at_least_a_frame(tmp_path, kind, samples):
    encoder = FrameEncoder(write_model(tmp_path / "w.safetensors", kind), {})
    found = encoder.frames(clip(samples), [1])
    assert len(found) in (1, 2)
    assert found.isfinite().all()


def test_the_encoder_alone_is_enough(tmp_path):
    state = network("whisper").state_dict()
    alone = {key: value.half() for key, value in state.items() if key.startswith("encoder.")}
    path = write_model(tmp_path / "w.safetensors", "whisper", alone)
    whole = FrameEncoder(write_model(tmp_path / "v.safetensors", "whisper"), {})
    found = FrameEncoder(path, {}).frames(clip(4000), [])
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, whole.frames(clip(4000), []), atol=1e-2, rtol=1e-2)


def test_weights_under_a_head_are_found(tmp_path):
    """Published files have the names of the task that they were trained for."""
    state = {f"hubert.{key}": value for key, value in network("hubert").state_dict().items()}
    path = write_model(tmp_path / "w.safetensors", "hubert", state)
    plain = FrameEncoder(write_model(tmp_path / "v.safetensors", "hubert"), {})
    found = FrameEncoder(path, {}).frames(clip(2000), [])
    torch.testing.assert_close(found, plain.frames(clip(2000), []))


def test_a_configuration_may_come_from_the_options(tmp_path):
    path = tmp_path / "w.safetensors"
    write_bundle(path, network("whisper").state_dict(), {}, {})
    found = FrameEncoder(path, WHISPER | {"model_type": "whisper"}).frames(clip(2000), [])
    stated = FrameEncoder(write_model(tmp_path / "v.safetensors", "whisper"), {})
    torch.testing.assert_close(found, stated.frames(clip(2000), []))


def test_what_is_no_encoder_of_speech_is_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    write_bundle(path, {"a": torch.zeros(1)}, {}, {})
    with pytest.raises(CrossmodalError, match=r"w\.safetensors: has no config\.json"):
        FrameEncoder(path, {})
    with pytest.raises(CrossmodalError, match="is no encoder of speech"):
        FrameEncoder(path, {"model_type": "nothing"})
    with pytest.raises(CrossmodalError, match="is no encoder of speech"):
        FrameEncoder(path, {"model_type": "bert"})


def test_weights_that_do_not_fit_are_refused(tmp_path):
    state = network("hubert").state_dict()
    few = {key: value for key, value in state.items() if "layers.1" not in key}
    with pytest.raises(CrossmodalError, match=r"do not fit hubert, which needs encoder\.layers\.1"):
        FrameEncoder(write_model(tmp_path / "w.safetensors", "hubert", few), {})
    wrong = state | {"encoder.layer_norm.weight": torch.zeros(3)}
    with pytest.raises(CrossmodalError, match="do not fit hubert"):
        FrameEncoder(write_model(tmp_path / "w.safetensors", "hubert", wrong), {})


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_file(), reason="needs CROSSMODAL_MIRROR")
def test_whispers_encoder_is_transformers_own():
    from safetensors.torch import load_file
    from transformers import WhisperConfig, WhisperFeatureExtractor
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    own = WhisperEncoder(WhisperConfig()).eval()
    own.load_state_dict({k.removeprefix("encoder."): v for k, v in load_file(REAL).items()})
    heard = WhisperFeatureExtractor()(clip(8000).numpy(), sampling_rate=16_000, return_tensors="pt")
    with torch.inference_mode():
        expected = own(heard.input_features).last_hidden_state[0, :25]
    found = FrameEncoder(REAL, {"model_type": "whisper"}).frames(clip(8000), [])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
