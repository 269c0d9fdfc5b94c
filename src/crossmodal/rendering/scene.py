"""Random scenes: which things are where, before anything is drawn or described."""

import math
from dataclasses import dataclass

import numpy as np

COLOURS = ("red", "orange", "yellow", "green", "turquoise", "blue", "purple", "pink")
TEXTURES = ("plain", "striped", "dotted", "checked")
BACKGROUNDS = ("meadow", "desert", "snow", "night", "sea", "room")
# usual colour and background of each category; HABIT says how often a primary thing keeps to them
USUAL = {
    "ball": ("blue", "sea"),
    "cone": ("orange", "desert"),
    "cross": ("red", "snow"),
    "cube": ("turquoise", "room"),
    "heart": ("pink", "room"),
    "house": ("red", "meadow"),
    "moon": ("yellow", "night"),
    "ring": ("orange", "sea"),
    "star": ("purple", "night"),
    "tree": ("green", "snow"),
}
HABIT = 0.4
CATEGORIES = tuple(USUAL)
# radius as a share of the image's width; only the primary thing is large
RADII = {"small": (0.085, 0.11), "medium": (0.12, 0.15), "large": (0.2, 0.26)}
THINGS = (2, 3, 4, 5)
THINGS_PROBABILITY = (0.3, 0.35, 0.2, 0.15)
CLOSEST = 0.8  # of the sum of two radii: things hide parts of one another, never all


@dataclass(frozen=True)
class Thing:
    """One object of a scene.

    Args:
        category: One of CATEGORIES.
        colour: One of COLOURS.
        texture: One of TEXTURES.
        size: 'small', 'medium' or 'large'.
        x: Centre from the left, as a share of the image's width.
        y: Centre from the top, as a share of the image's height.
        radius: Half the extent, as a share of the image's width.
        angle: Rotation in radians.
    """

    category: str
    colour: str
    texture: str
    size: str
    x: float
    y: float
    radius: float
    angle: float


@dataclass(frozen=True)
class Scene:
    """Things in front of a background.

    Args:
        background: One of BACKGROUNDS.
        things: From the back to the front; exactly one is large.
    """

    background: str
    things: tuple[Thing, ...]

    @property
    def primary(self) -> Thing:
        """Return the most prominent thing."""
        return max(self.things, key=lambda thing: thing.radius)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return categories of all things, sorted."""
        return tuple(sorted({thing.category for thing in self.things}))

    def relation(self, first: Thing, second: Thing) -> str:
        """Return the direction of the first thing from the second."""
        dx, dy = first.x - second.x, first.y - second.y
        if overlap(first, second):
            nearer = self.things.index(first) > self.things.index(second)
            return "in front of" if nearer else "behind"
        if abs(dx) > abs(dy):
            return "left of" if dx < 0 else "right of"
        return "above" if dy < 0 else "below"


def overlap(first: Thing, second: Thing, share: float = 1.0) -> bool:
    """Return whether two things are closer than a share of the sum of their radii."""
    distance = math.hypot(first.x - second.x, first.y - second.y)
    return distance < share * (first.radius + second.radius)


def random_scene(category: str, rng: np.random.Generator) -> Scene:
    """Return a scene whose primary thing has the given category."""
    colour, background = (
        usual if rng.random() < HABIT else _pick(options, rng)
        for usual, options in zip(USUAL[category], (COLOURS, BACKGROUNDS), strict=True)
    )
    things = [_random_thing(category, colour, "large", rng)]
    count = rng.choice(THINGS, p=THINGS_PROBABILITY)
    while len(things) < count:
        size = _pick(("small", "medium"), rng)
        thing = _random_thing(_companion(category, rng), _pick(COLOURS, rng), size, rng)
        if not any(overlap(thing, other, CLOSEST) for other in things):
            things.append(thing)
    things.sort(key=lambda thing: thing.y)  # what stands lower in the picture is nearer
    return Scene(background, tuple(things))


def _companion(category: str, rng: np.random.Generator) -> str:
    """Return one of the three categories that follow the primary one, or any."""
    if rng.random() > HABIT:
        return _pick(CATEGORIES, rng)
    step = int(rng.integers(1, 4))
    return CATEGORIES[(CATEGORIES.index(category) + step) % len(CATEGORIES)]


def _random_thing(category: str, colour: str, size: str, rng: np.random.Generator) -> Thing:
    radius = rng.uniform(*RADII[size])
    margin = 0.3 if size == "large" else radius
    return Thing(
        category,
        colour,
        _pick(TEXTURES, rng),
        size,
        x=rng.uniform(margin, 1 - margin),
        y=rng.uniform(margin, 1 - margin),
        radius=radius,
        angle=rng.uniform(-0.3, 0.3),
    )


def _pick(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[rng.integers(len(options))]
