import torch

from crossmodal.encoders.speech import SpeechEncoder


def test_two_recurrent_layers_have_the_published_number_of_parameters():
    encoder = SpeechEncoder(dims=1024, width=1.0, recurrent_layers=2)
    assert sum(p.numel() for p in encoder.recurrent.parameters()) == 9_449_472
    assert sum(p.numel() for p in encoder.project.parameters()) == 1_049_600


def test_whole_steps_of_sixteen_frames_are_read_and_at_least_one():
    encoder = SpeechEncoder(dims=6, width=0.05, recurrent_layers=1)
    steps = torch.randn(6, 3, encoder.convolutions.channels)
    encoder.convolutions.forward = lambda frames: steps
    found = encoder(torch.empty(6, 48, 40), torch.tensor([0, 15, 16, 31, 32, 48]))
    expected = encoder.project(encoder.recurrent(steps, torch.tensor([1, 1, 1, 1, 2, 3])))
    torch.testing.assert_close(found, expected)
