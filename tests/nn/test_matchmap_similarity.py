import pytest
import torch

from crossmodal.nn import matchmap_similarity
from crossmodal.nn.matchmap_similarity import all_scores, paired_scores, pool_steps

KINDS = ("sisa", "misa", "sima")
COUNTS = torch.tensor([5, 1, 3, 2])


@pytest.fixture
def positions():
    return torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def steps():
    return torch.randn(4, 5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def looped(image, clip, kind):
    """Score of one image (l, d) and one clip (t, d) without padding."""
    rows = [[sum(float(i * a) for i, a in zip(p, s, strict=True)) for s in clip] for p in image]
    columns = list(zip(*rows, strict=True))
    if kind == "sisa":
        return sum(map(sum, rows)) / (len(rows) * len(columns))
    parts = columns if kind == "misa" else rows
    return sum(map(max, parts)) / len(parts)


@pytest.mark.parametrize(("kind", "score"), [("sisa", 2 / 3), ("misa", 5 / 3), ("sima", 2.5)])
def test_worked_example(kind, score):
    positions = torch.tensor([[[1.0, 3, 0], [2, 2, -4]]])
    found = paired_scores(positions, torch.eye(3)[None], torch.tensor([3]), kind)
    assert found.item() == pytest.approx(score)


@pytest.mark.parametrize("kind", KINDS)
def test_all_scores_are_those_of_loops_over_parts(positions, steps, kind):
    expected = torch.tensor(
        [
            [looped(image, clip[:count], kind) for clip, count in zip(steps, COUNTS, strict=True)]
            for image in positions
        ],
        dtype=torch.float64,
    )
    torch.testing.assert_close(all_scores(positions, steps, COUNTS, kind), expected)
    paired = paired_scores(positions, steps[1:], COUNTS[1:], kind)
    torch.testing.assert_close(paired, expected[:, 1:].diagonal())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("elements", [1, 30, 61, 90, 240, 330])
def test_tiles_of_any_size_change_nothing(positions, steps, kind, elements, monkeypatch):
    positions, steps = (2 * positions).round(), (2 * steps).round()  # products are exact, and tie
    steps[torch.arange(5) >= COUNTS[:, None]] = torch.nan
    whole = all_scores(positions, steps, COUNTS, kind)
    assert whole.isfinite().all()
    monkeypatch.setattr(matchmap_similarity, "BLOCK_ELEMENTS", elements)
    tiles, reduce = [], matchmap_similarity._reduce
    monkeypatch.setattr(
        matchmap_similarity, "_reduce", lambda maps, *of: tiles.append(maps) or reduce(maps, *of)
    )
    assert torch.equal(all_scores(positions, steps, COUNTS, kind), whole)
    assert max(tile.numel() for tile in tiles) <= max(elements, 30)  # a map has 30


@pytest.mark.parametrize("kind", KINDS)
def test_padding_does_not_matter(positions, steps, kind):
    padded = steps.clone()
    padded[torch.arange(5) >= COUNTS[:, None]] = 1e6
    expected = all_scores(positions, steps, COUNTS, kind)
    torch.testing.assert_close(all_scores(positions, padded, COUNTS, kind), expected)
    kept = positions.mean(1, keepdim=True) if kind == "sisa" else positions
    pooled = pool_steps(padded, COUNTS, kind)
    torch.testing.assert_close(all_scores(kept, *pooled, kind), expected)


def test_sisa_is_the_inner_product_of_the_means(positions, steps):
    means = torch.stack([s[:c].mean(0) for s, c in zip(steps, COUNTS, strict=True)])
    found = all_scores(positions, steps, COUNTS, "sisa")
    torch.testing.assert_close(found, positions.mean(1) @ means.T)
    clips, counts = pool_steps(steps, COUNTS, "sisa")
    assert clips.shape == (4, 1, 4)
    assert counts.tolist() == [1, 1, 1, 1]


def test_maxima_are_no_less_than_means(positions, steps):
    sisa, misa, sima = (all_scores(positions, steps, COUNTS, kind) for kind in KINDS)
    assert (misa >= sisa).all()
    assert (sima >= sisa).all()


@pytest.mark.parametrize(("kind", "other"), [("sisa", "sisa"), ("misa", "sima"), ("sima", "misa")])
def test_exchange_of_the_modalities_exchanges_misa_and_sima(positions, steps, kind, other):
    full, all_positions = torch.full((4,), 5), torch.full((3,), 6)
    swapped = all_scores(steps, positions, all_positions, other)
    torch.testing.assert_close(all_scores(positions, steps, full, kind), swapped.T)


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_positions_and_steps_does_not_matter(positions, steps, kind):
    full = torch.full((4,), 5)
    expected = all_scores(positions, steps, full, kind)
    torch.testing.assert_close(all_scores(positions.flip(1), steps.flip(1), full, kind), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_changes_its_own_row_alone(positions, steps, kind):
    expected = all_scores(positions, steps, COUNTS, kind)
    positions[1] += 1
    changed = (all_scores(positions, steps, COUNTS, kind) != expected).any(1)
    assert changed.tolist() == [False, True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(positions, steps, kind):
    inputs = [x.requires_grad_() for x in (positions, steps)]
    assert torch.autograd.gradcheck(lambda p, s: all_scores(p, s, COUNTS, kind), inputs)
