import io
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance

from crossmodal.datasets._duplicates import Fingerprints, grouped


def photograph(seed):
    """Smooth noise of several scales, as in a photograph."""
    rng, found = np.random.default_rng(seed), np.zeros((96, 128, 3))
    for size in (4, 12, 30):
        cells = rng.integers(256, size=(size, size, 3), dtype=np.uint8)
        found += np.asarray(Image.fromarray(cells).resize((128, 96), Image.BICUBIC), float)
    return Image.fromarray((found / 3).astype(np.uint8))


def compressed(image):
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=30)
    return Image.open(stream)


COPIES = {
    "compressed": compressed,
    "smaller": lambda image: image.resize((64, 48)),
    "squashed": lambda image: image.resize((96, 96)),
    "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.2),
    "grey": lambda image: image.convert("L"),
}


def near(pictures):
    """Pairs of names of pictures that are nearly equal."""
    prints = Fingerprints()
    for name, picture in pictures.items():
        prints.name(name, Path(name))
        prints.add(Path(name), name, picture)
    return {frozenset(pair) for pair in prints.pairs()}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_is_near_and_another_picture_is_not(copy):
    originals = {f"{seed}": photograph(seed) for seed in range(8)}
    copies = {f"copy of {name}": COPIES[copy](image) for name, image in originals.items()}
    assert near(originals | copies) == {frozenset((name, f"copy of {name}")) for name in originals}


def thing(colour):
    """A thing of one colour on white."""
    image = Image.new("RGB", (120, 120), "white")
    ImageDraw.Draw(image).polygon([(20, 20), (100, 30), (80, 110), (30, 100)], colour)
    return image


def test_things_that_differ_in_colour_alone_are_not_near():
    colours = ("red", "green", "blue", "yellow", "black")
    assert near({colour: thing(colour) for colour in colours}) == set()
    assert near(
        {"grey": thing("red").convert("L"), "red": thing("red"), "blue": thing("blue")}
    ) == {frozenset(("grey", "red"))}


def test_flat_pictures_are_near_to_nothing():
    assert near({name: Image.new("L", (40, 40), 90) for name in "ab"}) == set()
    assert near({name: Image.new("RGB", (40, 40), "red") for name in "ab"}) == set()


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_blocks_of_any_size_give_the_same_pairs(monkeypatch, rows):
    pictures = {f"{seed}": photograph(seed % 4) for seed in range(10)}
    expected = near(pictures)
    monkeypatch.setattr("crossmodal.datasets._duplicates.ROWS", rows)
    assert near(pictures) == expected
    assert len(expected) == 3 + 3 + 1 + 1


def test_groups_join_what_is_equal_by_any_path():
    """a and b share a file, b and c its content, c and d a picture; e and f have nothing equal."""
    prints = Fingerprints()
    files = {"ab": "abc", "c": "abc", "C": "C", "d": "d", "e": "e", "f": "f"}
    owners = {"ab": "ab", "c": "c", "C": "c", "d": "d", "e": "e", "f": "f"}
    pictures = {"C": photograph(0), "d": compressed(photograph(0)), "e": photograph(1)}
    for path, items in owners.items():
        for item in items:
            prints.name(item, Path(path))
    for path, digest in files.items():
        prints.add(Path(path), digest, pictures.get(path))
    assert grouped(prints.pairs()) == dict.fromkeys("abcd", "a")
    assert {frozenset(pair) for pair in prints.pairs()} <= set(
        map(frozenset, combinations("abcd", 2))
    )
