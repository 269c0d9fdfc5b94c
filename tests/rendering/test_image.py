import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from crossmodal.rendering.image import RGB, draw, jpeg
from crossmodal.rendering.scene import BACKGROUNDS, COLOURS, TEXTURES, Scene, Thing, random_scene

SIZE = 64
BALL = Thing("ball", "red", "plain", "large", 0.35, 0.6, 0.25, 0.0)


def picture(thing, background="room", seed=0):
    return draw(Scene(background, (thing,)), SIZE, np.random.default_rng(seed)).astype(float)


def distance_to(thing):
    y, x = (np.mgrid[:SIZE, :SIZE] + 0.5) / SIZE
    return np.hypot(x - thing.x, y - thing.y) / thing.radius


def inner_colour(image, thing):
    return np.median(image[distance_to(thing) < 0.6], axis=0) / 255


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("colour", COLOURS)
def test_colour_of_a_thing_is_seen_where_the_scene_says(colour, background):
    thing = replace(BALL, colour=colour)
    seen = inner_colour(picture(thing, background), thing)
    directions = {name: rgb / np.linalg.norm(rgb) for name, rgb in RGB.items()}
    nearest = max(directions, key=lambda name: directions[name] @ seen / np.linalg.norm(seen))
    assert nearest == colour


@pytest.mark.parametrize(
    ("change", "share"), [({"colour": "blue"}, 0.95), ({"texture": "checked"}, 0.4)]
)
def test_a_changed_thing_changes_its_own_pixels_only(change, share):
    changed = (picture(BALL) != picture(replace(BALL, **change))).any(axis=2)
    assert not changed[distance_to(BALL) > 1.3].any()
    assert changed[distance_to(BALL) < 0.9].mean() > share


def test_every_thing_of_a_scene_is_drawn_in_its_place():
    for seed in range(20):
        scene = random_scene("ring", np.random.default_rng(seed))
        image = draw(scene, SIZE, np.random.default_rng(0))
        for number, thing in enumerate(scene.things):
            repainted = list(scene.things)
            repainted[number] = replace(thing, colour="blue" if thing.colour != "blue" else "red")
            other = draw(replace(scene, things=tuple(repainted)), SIZE, np.random.default_rng(0))
            places = distance_to(thing)[(image != other).any(axis=2)]
            assert len(places) > 0.2 * (SIZE * thing.radius) ** 2
            assert places.max() < 1.7


def test_textures_differ_in_their_light_and_dark_parts():
    inside = distance_to(BALL) < 0.9
    images = [picture(replace(BALL, texture=texture))[inside] for texture in TEXTURES]
    for number, one in enumerate(images):
        for other in images[:number]:
            assert (np.abs(one - other).max(axis=1) > 30).mean() > 0.1


def test_later_things_hide_earlier_ones():
    behind = replace(BALL, colour="blue", x=BALL.x + 0.05)
    scene = Scene("room", (behind, BALL))
    both = draw(scene, SIZE, np.random.default_rng(0)).astype(float)
    red, _, blue = inner_colour(both, BALL)
    assert red > 2 * blue


def test_rotation_turns_the_thing():
    house = replace(BALL, category="house", x=0.5, y=0.5)
    left, right = (picture(replace(house, angle=angle)) for angle in (-0.3, 0.3))
    assert (np.abs(left - right) > 30).mean() > 0.02


def test_clutter_and_noise_make_pictures_of_a_scene_differ():
    assert np.abs(picture(BALL) - picture(BALL, seed=1)).mean() > 5


def test_jpeg_decodes_to_almost_the_same_pixels():
    rng = np.random.default_rng(0)
    image = draw(random_scene("tree", rng), SIZE, rng)
    decoded = Image.open(io.BytesIO(jpeg(image)))
    assert (decoded.format, decoded.size) == ("JPEG", (SIZE, SIZE))
    assert np.abs(np.asarray(decoded, float) - image).mean() < 12


def test_file_size_does_not_tell_the_category():
    rng = np.random.default_rng(0)
    categories = np.repeat(np.array(["ball", "house", "moon", "ring", "tree"]), 40)
    sizes = np.array([len(jpeg(draw(random_scene(c, rng), SIZE, rng))) for c in categories])
    apart = np.abs(sizes[:, None] - sizes[None, :]).astype(float)
    np.fill_diagonal(apart, np.inf)
    found = (categories[apart.argmin(axis=1)] == categories).mean()
    assert found < 0.4  # chance is 0.2
