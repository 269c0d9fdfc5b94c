from types import SimpleNamespace

import pytest
from torch import nn

from crossmodal.training.fine_tuning import FineTuning

OPTIONS = {
    "image_network": "vgg16",
    "learning_rate": 0.5,
    "finetuning_rate": 0.25,
    "decay_every": 3,
    "clip": 2.0,
    "epochs": 7,
    "finetuning_epochs": 5,
}


class Toy(FineTuning):
    def __init__(self, **options):
        self.options = SimpleNamespace(**OPTIONS | options)
        self.network = nn.ModuleDict({"trunk": nn.Linear(3, 2), "image": nn.Linear(2, 2)})


Toy.__abstractmethods__ = frozenset()


def test_there_is_no_second_phase_without_a_rate_for_it():
    assert [Toy(finetuning_rate=rate).phases for rate in (0.25, None)] == [2, 1]


@pytest.mark.parametrize(("phase", "epochs", "rate"), [(0, 7, 0.5), (1, 5, 0.25)])
def test_each_phase_has_its_epochs_and_a_rate_that_falls_to_a_tenth(phase, epochs, rate):
    method = Toy()
    method.phase = phase
    assert method.epochs == epochs
    found = [method.learning_rate_at(epoch, step=0) for epoch in range(7)]
    assert found == pytest.approx([rate] * 3 + [rate / 10] * 3 + [rate / 100])


@pytest.mark.parametrize("phase", [0, 1])
def test_the_image_network_learns_in_the_second_phase_alone(phase):
    method = Toy()
    method.phase = phase
    (group,) = method.optimizer().param_groups
    trained = {id(p) for p in group["params"]}
    for name, part in method.network.items():
        learns = name == "image" or phase == 1
        assert all((id(p) in trained) == learns for p in part.parameters())


def test_gradients_are_clipped_together():
    method = Toy()
    for p in method.network.parameters():
        p.grad = p.detach().clone().fill_(3.0)
    method.clip()
    squares = sum(float(p.grad.square().sum()) for p in method.network.parameters())
    assert squares == pytest.approx(2.0**2, rel=1e-5)
