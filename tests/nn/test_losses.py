import pytest
import torch
from scipy.stats import chisquare

from crossmodal.nn.losses import (
    draw_impostors,
    hardest_ranking_loss,
    impostor_loss,
    ranking_loss,
    semi_hard_loss,
)

CAPTIONING = torch.tensor([[0.6, 0.5, 0.45], [0.5, 0.3, 0.4], [0.35, 0.25, 0.5]])
CATEGORIES = torch.tensor([[0.9, 0.3], [0.4, 0.8]])


@pytest.fixture
def batch():
    """Scores, margins and negatives of 7 pairs, all different."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(7, 7, generator=generator, dtype=torch.float64)
    margins = torch.rand(7, 7, generator=generator, dtype=torch.float64)
    return scores, margins, torch.rand(7, 7, generator=generator) < 0.6


@pytest.fixture(params=["negative", "anchor"])
def hardest(request):
    """Both readings of the maximum."""
    return request.param


def looped(scores, margins, negatives):
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if negatives[i, j]:
                total += max(0.0, (margins[i, j] - scores[i, i] + scores[i, j]).item())
                total += max(0.0, (margins[i, j] - scores[i, i] + scores[j, i]).item())
    return total


def test_closed_form_of_three_pairs():
    assert ranking_loss(CAPTIONING, 0.2).item() == pytest.approx(1.80)


@pytest.mark.parametrize(("margin", "loss"), [(1.0, 2.0), (0.525, 0.175)])
def test_hand_computed_example_of_two_categories(margin, loss):
    assert ranking_loss(CATEGORIES, torch.full((2, 2), margin)).item() == pytest.approx(loss)


def test_pairs_that_are_no_negatives_do_not_count():
    scores = torch.full((3, 3), 0.95)  # the third pair would violate every margin
    scores[:2, :2] = CATEGORIES
    negatives = torch.zeros(3, 3, dtype=torch.bool)
    negatives[0, 1] = negatives[1, 0] = True
    assert ranking_loss(scores, 1.0, negatives).item() == pytest.approx(2.0)


@pytest.mark.parametrize(("n", "margin", "loss"), [(32, 0.2, 396.8), (128, 0.2, 6502.4)])
def test_constant_scores_give_the_margin_for_every_hinge(n, margin, loss):
    assert ranking_loss(torch.full((n, n), 0.3), margin).item() == pytest.approx(loss)


def test_equals_loops_over_anchors_and_negatives(batch):
    scores, *_ = batch
    assert ranking_loss(*batch).item() == pytest.approx(looped(*batch))
    constant, others = torch.full((7, 7), 0.4), ~torch.eye(7, dtype=torch.bool)
    assert ranking_loss(scores, 0.4).item() == pytest.approx(looped(scores, constant, others))


def test_separated_pairs_have_no_loss_and_no_gradient():
    scores = torch.eye(5, requires_grad=True)
    loss = ranking_loss(scores, 0.9)
    loss.backward()
    assert loss.item() == 0
    assert (scores.grad == 0).all()


def test_exchanging_the_modalities_changes_nothing(batch):
    scores, margins, negatives = batch
    expected = ranking_loss(scores, margins, negatives)
    torch.testing.assert_close(ranking_loss(scores.T, margins, negatives), expected)


def test_gradients_are_those_of_finite_differences(batch):
    scores, margins, negatives = batch
    scores.requires_grad_()
    margins.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s, f: ranking_loss(s, f, negatives), (scores, margins), eps=1e-7
    )


def others(n):
    return ~torch.eye(n, dtype=torch.bool)


def looped_hardest(scores, margin, negatives, hardest):
    n, total = len(scores), 0.0
    for one in range(n):
        captions, images = [0.0], [0.0]
        for other in range(n):
            i, j = (one, other) if hardest == "negative" else (other, one)
            if negatives[i, j]:
                captions.append((margin + scores[i, j] - scores[i, i]).item())
                images.append((margin + scores[j, i] - scores[i, i]).item())
        total += max(captions) + max(images)
    return total


@pytest.mark.parametrize(("hardest", "loss"), [("negative", 1.20), ("anchor", 1.45)])
def test_closed_form_of_the_hardest_of_three_pairs(hardest, loss):
    found = hardest_ranking_loss(CAPTIONING, 0.2, others(3), hardest)
    assert found.item() == pytest.approx(loss)


@pytest.mark.parametrize(("margin", "loss"), [(0.2, 51.2), (0.05, 12.8)])
def test_constant_scores_give_the_margin_twice_for_every_pair(hardest, margin, loss):
    scores = torch.full((128, 128), 0.3)
    found = hardest_ranking_loss(scores, margin, others(128), hardest)
    assert found.item() == pytest.approx(loss)


def test_hardest_equals_loops_over_anchors_and_negatives(hardest, batch):
    scores, _, negatives = batch
    found = hardest_ranking_loss(scores, 0.4, negatives, hardest)
    assert found.item() == pytest.approx(looped_hardest(scores, 0.4, negatives, hardest))


def test_separated_pairs_have_no_hard_negatives(hardest):
    scores = torch.eye(5, requires_grad=True)
    loss = hardest_ranking_loss(scores, 0.9, others(5), hardest)
    loss.backward()
    assert loss.item() == 0
    assert (scores.grad == 0).all()


def test_hardest_at_most_the_sum_and_equal_for_two_pairs(hardest, batch):
    scores, _, negatives = batch
    found = hardest_ranking_loss(scores, 0.4, negatives, hardest)
    assert 0 < found < ranking_loss(scores, 0.4, negatives)
    two = scores[:2, :2]
    found = hardest_ranking_loss(two, 0.4, others(2), hardest)
    torch.testing.assert_close(found, ranking_loss(two, 0.4))


def test_hardest_invariant_to_order_of_pairs_and_modalities(hardest, batch):
    scores, _, negatives = batch
    expected = hardest_ranking_loss(scores, 0.4, negatives, hardest)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    for s, n in ((scores.T, negatives), (scores[order][:, order], negatives[order][:, order])):
        torch.testing.assert_close(hardest_ranking_loss(s, 0.4, n, hardest), expected)


def test_hardest_gradients_equal_finite_differences(hardest, batch):
    scores, _, negatives = batch
    scores.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: hardest_ranking_loss(s, 0.4, negatives, hardest), scores, eps=1e-7
    )


def test_the_two_readings_agree_if_all_pairs_are_equally_similar(batch):
    scores = batch[0].fill_diagonal_(0.5)
    published, released = (
        hardest_ranking_loss(scores, 0.4, others(7), hardest) for hardest in ("negative", "anchor")
    )
    torch.testing.assert_close(published, released)


def test_an_impostor_is_any_other_pair_with_equal_chances():
    torch.manual_seed(0)
    drawn = torch.stack([draw_impostors(others(8)) for _ in range(12_500)])  # 100,000
    assert (drawn != torch.arange(8)).all()
    for row, column in enumerate(drawn.T):
        counts = column.bincount(minlength=8)
        assert chisquare(counts[torch.arange(8) != row]).pvalue > 1e-4


def test_an_impostor_is_of_another_image_if_there_is_one():
    negatives = torch.tensor([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=torch.bool)
    drawn = torch.stack([draw_impostors(negatives) for _ in range(50)])
    assert negatives[torch.arange(3), drawn].all()
    assert draw_impostors(torch.zeros(3, 3, dtype=torch.bool)).tolist() == [0, 1, 2]


def test_impostors_of_equal_score_cost_two_margins():
    scores = torch.full((6,), 3.0)
    assert impostor_loss(scores, scores, scores, 0.7).item() == pytest.approx(1.4)


def test_impostors_far_below_cost_nothing_and_pull_at_nothing():
    positive = torch.full((4,), 3.0, requires_grad=True)
    loss = impostor_loss(positive, torch.zeros(4), torch.zeros(4), 1.0)
    loss.backward()
    assert loss.item() == 0
    assert (positive.grad == 0).all()


def test_semi_hard_impostors_of_the_worked_example():
    # by row .5, none, .35; by column .5, .25, .45
    expected = (0.9 + 0 + 0.85 + 0.9 + 0.95 + 0.95) / 3
    found = semi_hard_loss(CAPTIONING, 1.0, others(3))
    assert found.item() == pytest.approx(expected)


def test_semi_hard_impostors_may_score_below_zero():
    scores = torch.tensor([[0.0, -3.0], [-2.0, 1.0]])
    expected = ((4 - 3) + (4 - 2 - 1) + (4 - 2) + 0) / 2
    assert semi_hard_loss(scores, 4.0, others(2)).item() == pytest.approx(expected)


def test_without_a_semi_hard_impostor_nothing_is_learnt():
    scores = torch.tensor([[0.0, 2.0], [3.0, 1.0]], requires_grad=True)
    loss = semi_hard_loss(scores, 1.0, others(2))
    loss.backward()
    assert loss.item() == 0
    assert (scores.grad == 0).all()


def test_equal_similarities_cost_a_margin_for_each_negative():
    assert ranking_loss(torch.full((32, 32), 0.3), 0.2).item() == pytest.approx(396.8, rel=1e-5)


def test_ranking_invariant_to_exchange_of_both_modalities(batch):
    scores, _, _ = batch
    torch.testing.assert_close(ranking_loss(scores, 0.2), ranking_loss(scores.T, 0.2))
    order = torch.tensor([3, 0, 6, 1, 4, 2, 5])
    both = ranking_loss(scores[order][:, order], 0.2)
    torch.testing.assert_close(both, ranking_loss(scores, 0.2))
    assert (ranking_loss(scores[order], 0.2) - both).abs() > 1e-3
