import pytest

from crossmodal.data.held_out import HeldOut

PARTS = {"train": 50, "test": 20}


def drawn(held_out, part):
    return {p for p in range(PARTS[part]) if held_out.split(part, p) == "validation"}


@pytest.mark.parametrize("part", ["train", "test"])
def test_validation_items_come_from_their_part_alone(part):
    held_out = HeldOut(PARTS, 7, seed=0, part=part)
    sizes = {name: len(drawn(held_out, name)) for name in PARTS}
    assert sizes == {"train": 0, "test": 0, part: 7}
    assert held_out.counts() == {**PARTS, part: PARTS[part] - 7, "validation": 7}
    for name in PARTS:
        left = set(range(PARTS[name])) - drawn(held_out, name)
        assert {held_out.split(name, place) for place in left} == {name}


def test_the_draw_follows_the_seed_and_reaches_every_place():
    draws = [drawn(HeldOut(PARTS, 7, seed), "train") for seed in range(100)]
    assert drawn(HeldOut(PARTS, 7, seed=3), "train") == draws[3]
    assert set.union(*draws) == set(range(50))


def test_published_places_are_not_drawn():
    held_out = HeldOut(PARTS, 2, seed=0, part="test", published=frozenset({3, 5}))
    assert drawn(held_out, "test") == {3, 5}
