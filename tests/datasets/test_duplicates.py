import io
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from crossmodal.datasets._duplicates import NEAR, Fingerprints, differences, grouped
from crossmodal.vectors import unit_rows


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


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_is_near_and_another_picture_is_not(copy):
    originals = [photograph(seed) for seed in range(8)]
    first = unit_rows(np.stack([differences(image) for image in originals]))
    second = unit_rows(np.stack([differences(COPIES[copy](image)) for image in originals]))
    near = first @ second.T >= NEAR
    np.testing.assert_array_equal(near, np.eye(8, dtype=bool))


def test_flat_pictures_are_near_to_nothing():
    grey = Image.new("L", (40, 40), 90)
    assert not differences(grey).any()
    prints = Fingerprints()
    for name in ("a", "b"):
        prints.name(name, Path(name))
        prints.add(Path(name), name, grey)
    assert [*prints.pairs()] == []


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
