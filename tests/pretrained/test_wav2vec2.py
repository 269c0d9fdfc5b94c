from types import SimpleNamespace
from typing import get_args

import pytest
import torch
from safetensors.torch import save_file

from crossmodal.errors import CrossmodalError
from crossmodal.pretrained import wav2vec2
from crossmodal.pretrained.wav2vec2 import NETWORKS, Name, frames, make_network, pipeline
from crossmodal.pretrained.weights import convert


def tiny(**changes):
    """Parameters of a network of the smallest size, as the published ones but for the widths."""
    convolutions = [(8, 10, 5), *[(8, 3, 2)] * 4, *[(8, 2, 2)] * 2]
    sizes = {
        "extractor_conv_layer_config": convolutions,
        "encoder_embed_dim": 16,
        "encoder_pos_conv_kernel": 8,
        "encoder_pos_conv_groups": 2,
        "encoder_num_layers": 3,
        "encoder_num_heads": 2,
        "encoder_ff_interm_features": 32,
    }
    return pipeline("wav2vec2_base")._params | sizes | changes


@pytest.fixture
def small(monkeypatch):
    """Networks of the smallest size."""
    facts = SimpleNamespace(_params=tiny(), _normalize_waveform=True)
    monkeypatch.setattr(wav2vec2, "pipeline", lambda name: facts)


def clip(samples, seed=0):
    return 0.1 * torch.randn(samples, generator=torch.Generator().manual_seed(seed)) + 0.3


def test_the_facts_are_torchaudios():
    assert NETWORKS.keys() == {*get_args(Name)}
    for name, network in NETWORKS.items():
        facts = pipeline(name)
        assert network.file == facts._path
        params = facts._params
        assert network.layers == params["encoder_num_layers"]


@pytest.mark.parametrize("name", ["wav2vec2_base", "hubert_large"])
def test_the_steps_of_frames_are_those_of_the_convolutions(name):
    reach, jump = 1, 1
    for _, kernel, stride in pipeline(name)._params["extractor_conv_layer_config"]:
        reach, jump = reach + (kernel - 1) * jump, jump * stride
    assert (reach, jump) == (wav2vec2.RECEPTIVE_FIELD, wav2vec2.STRIDE)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("normalise", [False, True])
def test_frames_are_means_of_torchaudios_layers(normalise):
    network = make_network("wav2vec2_base", None, seed=0)
    samples = clip(4000)
    heard = (samples - samples.mean()) / samples.std(correction=0) if normalise else samples
    layers, _ = network.extract_features(heard[None])
    found = frames(network, samples, [1, 3], normalise)
    assert found.shape == (1 + (4000 - 400) // 320, 16)
    torch.testing.assert_close(found, (layers[0][0] + layers[2][0]) / 2, atol=1e-4, rtol=1e-4)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("samples", [0, 1, 399, 400])
def test_a_clip_has_at_least_a_frame(samples):
    network = make_network("wav2vec2_base", None, seed=0)
    found = frames(network, clip(samples), [2], normalise=True)
    assert found.shape == (1, 16)
    assert found.isfinite().all()


@pytest.mark.usefixtures("small")
def test_random_weights_of_the_seed_alone():
    torch.manual_seed(5)
    first = make_network("wav2vec2_base", None, seed=0).state_dict()
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert drawn == torch.rand(1)
    again = make_network("wav2vec2_base", None, seed=0).state_dict()
    other = make_network("wav2vec2_base", None, seed=1).state_dict()
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.usefixtures("small")
def test_weights_are_read_as_torchaudio_publishes_them(tmp_path):
    """The published files have the older names of a weight norm's parts."""
    network = make_network("wav2vec2_base", None, seed=3)
    parts = {"parametrizations.weight.original0": "weight_g"}
    parts |= {"parametrizations.weight.original1": "weight_v"}
    published = {}
    for key, value in network.state_dict().items():
        for new, old in parts.items():
            key = key.replace(new, old)
        published[key] = value
    assert sum(key.endswith(("weight_g", "weight_v")) for key in published) == 2
    torch.save(published, tmp_path / "w.pth")
    convert(tmp_path / "w.pth", tmp_path / "w.safetensors")
    read = make_network("wav2vec2_base", tmp_path / "w.safetensors", seed=0)
    samples = clip(2000)
    expected = frames(network, samples, [3], normalise=False)
    torch.testing.assert_close(frames(read, samples, [3], normalise=False), expected)


@pytest.mark.usefixtures("small")
def test_weights_that_do_not_fit_are_refused(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "w.safetensors")
    with pytest.raises(CrossmodalError, match=r"w\.safetensors: does not fit wav2vec2_base"):
        make_network("wav2vec2_base", tmp_path / "w.safetensors", seed=0)
    (tmp_path / "w.safetensors").write_bytes(b"no weights")
    with pytest.raises(CrossmodalError, match=r"w\.safetensors: not a safetensors file"):
        make_network("wav2vec2_base", tmp_path / "w.safetensors", seed=0)
