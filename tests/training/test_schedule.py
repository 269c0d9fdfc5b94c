import pytest
import torch
from torch import nn

from crossmodal.training.schedule import Phase, Schedule

SCHEDULE = Schedule((Phase(7, 0.5), Phase(5, 0.25)), decay=0.1, decay_every=3, clip=2.0)


@pytest.mark.parametrize(("phase", "rate"), [(0, 0.5), (1, 0.25)])
def test_learning_rate_steps_down_in_each_phase(phase, rate):
    rates = [SCHEDULE.learning_rate(phase, epoch) for epoch in range(7)]
    assert rates == pytest.approx([rate] * 3 + [rate / 10] * 3 + [rate / 100])


def test_learning_rate_constant_by_default():
    assert Schedule((Phase(3, 0.3),)).learning_rate(0, 2) == 0.3


@pytest.mark.parametrize(("schedule", "norm"), [(SCHEDULE, 2), (Schedule(()), 3 * 8**0.5)])
def test_gradients_clipped_together(schedule, norm):
    parameters = [nn.Parameter(torch.zeros(size)) for size in (3, 5)]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 3.0)
    schedule.clip_gradients(parameters)
    squares = sum(float(p.grad.square().sum()) for p in parameters)
    assert squares**0.5 == pytest.approx(norm)
