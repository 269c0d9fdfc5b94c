import numpy as np
import pytest
import torch

from crossmodal.nn.speech import NETWORKS, SpeechEncoder, SpeechSteps


def test_two_recurrent_layers_parameters_as_published():
    encoder = SpeechEncoder(
        "davenet", dims=1024, width=1.0, recurrent_layers=2, reads_padding=False
    )
    assert sum(p.numel() for p in encoder.recurrent.parameters()) == 9_449_472
    assert sum(p.numel() for p in encoder.project.parameters()) == 1_049_600


def test_whole_steps_of_sixteen_frames_are_read_and_at_least_one():
    encoder = SpeechEncoder("davenet", 6, width=0.05, recurrent_layers=1, reads_padding=False)
    steps = torch.randn(6, 3, encoder.steps.channels)
    encoder.steps.convolutions.forward = lambda frames: steps
    found = encoder(torch.empty(6, 48, 40), torch.tensor([0, 15, 16, 31, 32, 48]))
    expected = encoder.project(encoder.recurrent(steps, torch.tensor([1, 1, 1, 1, 2, 3])))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_has_as_many_steps_and_channels_as_it_says(network):
    encoder = SpeechSteps(network, width=0.05)
    stride = encoder.convolutions.stride
    steps, counts = encoder(torch.zeros(2, 48, 40), torch.tensor([3, 45]))
    assert steps.shape == (2, 48 // stride, encoder.channels)
    assert counts.tolist() == [1, 45 // stride]


@pytest.mark.parametrize("network", NETWORKS)
def test_frames_may_have_another_width_than_the_papers(network):
    narrow, usual = SpeechSteps(network, width=0.05, bins=7), SpeechSteps(network, width=0.05)
    steps, _ = narrow(torch.zeros(2, 48, 7), torch.tensor([3, 45]))
    assert steps.shape == usual(torch.zeros(2, 48, 40), torch.tensor([3, 45]))[0].shape


@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_hears_its_own_time(network):
    encoder = SpeechSteps(network, width=0.05).eval()
    frames = torch.randn(1, 1600, 40, generator=torch.Generator().manual_seed(0))
    louder = frames.clone()
    louder[:, 800:816] += 5
    with torch.inference_mode():
        change = (encoder.convolutions(louder) - encoder.convolutions(frames)).abs().sum((0, 2))
    moved = np.flatnonzero(change) * encoder.convolutions.stride
    assert len(moved)
    assert 350 < moved.min() <= 800 <= moved.max() < 1250
