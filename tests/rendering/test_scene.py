import numpy as np
import pytest

from crossmodal.rendering.scene import CATEGORIES, USUAL, Scene, Thing, random_scene
from crossmodal.rendering.shapes import SHAPES

WIDTH = 96


@pytest.fixture(scope="module")
def scenes():
    rng = np.random.default_rng(3)
    return [random_scene(CATEGORIES[n % len(CATEGORIES)], rng) for n in range(300)]


def thing(x, y, radius=0.1):
    return Thing("ball", "red", "plain", "small", x, y, radius, 0.0)


def silhouette(thing):
    """Pixels of a thing alone: by complex numbers, to be independent of the drawing."""
    y, x = (np.mgrid[:WIDTH, :WIDTH] + 0.5) / WIDTH
    plane = ((x - thing.x) + 1j * (y - thing.y)) * np.exp(-1j * thing.angle) / thing.radius
    return SHAPES[thing.category](plane.real, plane.imag) > 0


def test_primary_thing_has_its_category_and_alone_is_large(scenes):
    for number, scene in enumerate(scenes):
        assert scene.primary.category == CATEGORIES[number % len(CATEGORIES)]
        assert [t for t in scene.things if t.size == "large"] == [scene.primary]


def test_labels_are_the_categories_of_two_to_five_things(scenes):
    assert {len(scene.things) for scene in scenes} == {2, 3, 4, 5}
    for scene in scenes:
        assert set(scene.labels) == {t.category for t in scene.things}
        assert scene.labels == tuple(sorted(set(scene.labels)))


def test_things_are_visible_in_part_and_some_are_occluded(scenes):
    hidden = 0
    for scene in scenes:
        owner = np.full((WIDTH, WIDTH), -1)
        for number, one in enumerate(scene.things):
            owner[silhouette(one)] = number
        for number, one in enumerate(scene.things):
            seen = (owner == number).sum() / silhouette(one).sum()
            assert seen > 0.25
            hidden += seen < 1
    assert hidden > 0


def test_usual_colours_are_likely_but_no_rule(scenes):
    for part, chance in (("colour", 1 / 8), ("background", 1 / 6)):
        usual = [
            getattr(s.primary if part == "colour" else s, part) in USUAL[s.primary.category]
            for s in scenes
        ]
        assert 1.5 * chance < np.mean(usual) < 0.75


def test_no_category_accompanies_one_primary_alone(scenes):
    for category in CATEGORIES:
        primaries = {s.primary.category for s in scenes if category in s.labels}
        assert len(primaries) > 3


@pytest.mark.parametrize(
    ("x", "y", "relation"),
    [(0.2, 0.5, "left of"), (0.8, 0.6, "right of"), (0.5, 0.1, "above"), (0.4, 0.9, "below")],
)
def test_relation_is_the_larger_offset_between_things_apart(x, y, relation):
    first, second = thing(x, y), thing(0.5, 0.5)
    assert Scene("room", (first, second)).relation(first, second) == relation


def test_relation_of_overlapping_things_is_the_order_of_drawing():
    back, front = thing(0.5, 0.5), thing(0.6, 0.5)
    scene = Scene("room", (back, front))
    assert scene.relation(front, back) == "in front of"
    assert scene.relation(back, front) == "behind"


def test_silhouettes_fill_their_square_and_differ():
    images = {c: silhouette(Thing(c, "red", "plain", "large", 0.5, 0.5, 0.5, 0.0)) for c in SHAPES}
    for category, image in images.items():
        rows = np.flatnonzero(image.any(axis=1))
        assert rows[-1] - rows[0] > 0.8 * WIDTH
        for other, other_image in images.items():
            agreement = (image & other_image).sum() / (image | other_image).sum()
            assert category == other or agreement < 0.85
