import io
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance

from crossmodal.datasets._duplicates import SHADES, Fingerprints, Looks, grouped


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


def descriptors(rng, count):
    """Rows as of `look`: whole numbers and multiples of 1/64, of pictures and copies of them.

    Copies are as near as makes some pairs agree and others not; some rows are grey, some flat, and
    of some the cosine is 0.8, or the ratio of lengths 0.9, but for one unit or none.
    """
    originals = rng.integers(0, -(-count // 2), count)  # each row copies one of these
    shades = rng.normal(size=(count, SHADES), scale=30)[originals]
    shades *= rng.uniform(0.7, 1.3, (count, 1))
    noise = rng.normal(size=shades.shape)
    few = rng.random(count) < 0.5  # differ in few directions, where the bound is tight
    noise[few] = rng.normal(size=(few.sum(), 4)) @ rng.normal(size=(4, SHADES)) / 2
    shades = np.rint(shades + noise * rng.uniform(0, 30, (count, 1)))
    colours = rng.normal(size=(count, 128), scale=10)[originals]
    colours = colours + rng.normal(size=colours.shape) * rng.uniform(0, 20, (count, 1))
    rows = np.hstack([shades, np.rint(64 * colours) / 64])
    rows[rng.random(count) < 0.05] = 0
    rows[rng.random(count) < 0.3, SHADES:] = 0
    half = rng.integers(-40, 41, SHADES // 2)
    for first in range(0, count - 3, 8):
        rows[first, :SHADES] = [*4 * half, *3 * half]
        rows[first + 1, :SHADES] = [*5 * half, *0 * half]
        rows[first + 2, :SHADES] = rows[first, :SHADES] * 10 // 9
        rows[first + rng.integers(3), rng.integers(SHADES)] += rng.integers(-1, 2)
    return rows.astype(np.float32)


def all_compared(rows):
    """Pairs that are near, by comparing squares of whole numbers."""
    numbers = np.rint(64 * rows.astype(float)).astype(int)
    shades, colours = numbers[:, :SHADES] // 64, numbers[:, SHADES:]
    coloured = (colours**2).sum(1) >= 64**2 * 128 * 2**2

    def reaches(a, b, tenths):
        return a @ b > 0 and 100 * int(a @ b) ** 2 >= tenths**2 * int(a @ a) * int(b @ b)

    for a, b in combinations(range(len(rows)), 2):
        if reaches(shades[a], shades[b], 8):
            low, high = sorted(int(row @ row) for row in (shades[a], shades[b]))
            if coloured[a] and coloured[b]:
                agree = reaches(colours[a], colours[b], 7)
            else:
                agree = coloured[a] == coloured[b] or 100 * low >= 81 * high
            if agree:
                yield a, b


@pytest.mark.parametrize(
    ("count", "directions"), [(1, 64), (2, 64), (3, 64), (30, 1), (300, 8), (600, 64)]
)
def test_the_bound_loses_no_pair_and_adds_none(monkeypatch, count, directions):
    monkeypatch.setattr("crossmodal.datasets._duplicates.DIRECTIONS", directions)
    rows = descriptors(np.random.default_rng(count), count)
    expected = [*all_compared(rows)]
    assert [*Looks(rows).pairs()] == expected
    assert bool(expected) == (count >= 30)


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_blocks_of_any_size_give_the_same_pairs(monkeypatch, rows):
    pictures = {f"{seed}": photograph(seed % 4) for seed in range(10)}
    expected = near(pictures)
    monkeypatch.setattr("crossmodal.datasets._duplicates.ROWS", rows)
    monkeypatch.setattr("crossmodal.datasets._duplicates.COLUMNS", rows + 1)
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


def test_a_long_chain_of_pairs_is_one_group():
    chain = ((f"{number:06}", f"{number - 1:06}") for number in range(100_000, 0, -1))
    assert {*grouped(chain).values()} == {"000000"}
