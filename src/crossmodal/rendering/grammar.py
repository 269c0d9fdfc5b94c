"""Captions of a scene from a random grammar.

A caption names some of the things and never all of them, each with some of its attributes, in one
of several words. Two kinds of distractor may be added: a phrase that says nothing about the scene,
and `but no` with the name of a category that is not there.
"""

from collections.abc import Sequence

import numpy as np

from crossmodal.rendering.scene import CATEGORIES, Scene, Thing

NAMED_PROBABILITY = (0.5, 0.35, 0.15)  # of naming one, two, three things
DETAIL = (0.9, 0.6, 0.35)  # the more things are named, the less is said of each
SAID = {"size": 0.5, "texture": 0.5, "colour": 1.0, "place": 0.4}  # times DETAIL: a probability

NOUNS = {
    "ball": ("ball", "sphere"),
    "cone": ("cone", "funnel"),
    "cross": ("cross", "plus sign"),
    "cube": ("cube", "box"),
    "heart": ("heart", "valentine"),
    "house": ("house", "cottage"),
    "moon": ("moon", "crescent"),
    "ring": ("ring", "hoop"),
    "star": ("star", "pentagram"),
    "tree": ("tree", "pine"),
}
COLOURS = {
    "red": ("red", "crimson"),
    "orange": ("orange", "tangerine"),
    "yellow": ("yellow", "golden"),
    "green": ("green", "emerald"),
    "turquoise": ("turquoise", "teal"),
    "blue": ("blue", "navy"),
    "purple": ("purple", "violet"),
    "pink": ("pink", "rosy"),
}
SIZES = {
    "small": ("small", "tiny"),
    "medium": ("medium", "average"),
    "large": ("large", "huge"),
}
TEXTURES = {
    "plain": ("plain", "smooth"),
    "striped": ("striped", "stripy"),
    "dotted": ("dotted", "spotted"),
    "checked": ("checked", "chequered"),
}
ADJECTIVES = {"size": SIZES, "texture": TEXTURES, "colour": COLOURS}
SETTINGS = {
    "meadow": ("on a meadow", "in the grass", "outdoors on the lawn"),
    "desert": ("in the desert", "on the sand"),
    "snow": ("in the snow", "in a winter landscape"),
    "night": ("at night", "in the dark"),
    "sea": ("at sea", "on the water"),
    "room": ("in a room", "indoors on the floor"),
}
RELATIONS = {
    "left of": ("left of", "to the left of", "beside"),
    "right of": ("right of", "to the right of", "beside"),
    "above": ("above", "over", "higher than"),
    "below": ("below", "under", "lower than"),
    "in front of": ("in front of", "close before"),
    "behind": ("behind", "close behind"),
}
CONJUNCTIONS = ("and", "with", "and also")
OPENERS = ("there is", "i see", "i can see", "a picture of", "look at", "here we have")
FILLERS = (
    "i think",
    "you know",
    "if i am right",
    "as far as i can tell",
    "it was drawn on a monday",
    "my sister likes it",
    "what a nice picture",
)


def captions(scene: Scene, count: int, rng: np.random.Generator) -> list[str]:
    """Return different captions of a scene, in lower case and without punctuation."""
    different: dict[str, None] = {}
    while len(different) < count:
        different[_caption(scene, rng)] = None
    return list(different)


def _caption(scene: Scene, rng: np.random.Generator) -> str:
    parts = [_statement(scene, _choose(scene, rng), rng)]
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(2)), _pick(SETTINGS[scene.background], rng))
    if rng.random() < 0.15:
        parts.insert(int(rng.integers(len(parts) + 1)), _pick(FILLERS, rng))
    if rng.random() < 0.1:
        absent = [category for category in CATEGORIES if category not in scene.labels]
        parts.append(f"but no {_pick(NOUNS[_pick(absent, rng)], rng)}")
    return " ".join(parts)


def _choose(scene: Scene, rng: np.random.Generator) -> list[Thing]:
    """Return the things that a caption names: larger ones are likelier, at least one is omitted."""
    share = np.array(NAMED_PROBABILITY[: len(scene.things) - 1])
    count = 1 + rng.choice(len(share), p=share / share.sum())
    areas = np.array([thing.radius**2 for thing in scene.things])
    chosen = rng.choice(len(areas), count, replace=False, p=areas / areas.sum())
    return [scene.things[index] for index in chosen]


def _statement(scene: Scene, things: list[Thing], rng: np.random.Generator) -> str:
    """Return 'there is a red ball left of a cone and a box', 'left of a cone stands a red ball'."""
    detail = DETAIL[len(things) - 1]
    first, *others = (_noun_phrase(thing, detail, rng) for thing in things)
    words = [first]
    for one, next_one, phrase in zip(things, things[1:], others, strict=False):
        words += [_link(scene, one, next_one, rng), phrase]
    if len(words) == 3 and words[1] not in CONJUNCTIONS and rng.random() < 0.3:
        return " ".join([words[1], words[2], _pick(("is", "stands"), rng), first])
    if rng.random() < 0.5:
        words.insert(0, _pick(OPENERS, rng))
    return " ".join(words)


def _link(scene: Scene, first: Thing, second: Thing, rng: np.random.Generator) -> str:
    if rng.random() < 0.4:
        return _pick(CONJUNCTIONS, rng)
    return _pick(RELATIONS[scene.relation(first, second)], rng)


def _noun_phrase(thing: Thing, detail: float, rng: np.random.Generator) -> str:
    """Return 'a tiny crimson ball', 'the striped box that is blue', 'a moon in the top left'."""
    named = {attribute for attribute in SAID if rng.random() < detail * SAID[attribute]}
    adjectives = [
        _pick(vocabulary[getattr(thing, attribute)], rng)
        for attribute, vocabulary in ADJECTIVES.items()
        if attribute in named
    ]
    rng.shuffle(adjectives)
    after = [f"that is {adjectives.pop()}"] if adjectives and rng.random() < 0.15 else []
    if "place" in named:
        after.append(_place(thing))
    words = [*adjectives, _pick(NOUNS[thing.category], rng)]
    article = "the" if rng.random() < 0.3 else "an" if words[0][0] in "aeiou" else "a"
    return " ".join([article, *words, *after])


def _place(thing: Thing) -> str:
    """Return 'in the top left', 'at the bottom', by thirds of the image."""
    vertical = "top" if thing.y < 1 / 3 else "bottom" if thing.y > 2 / 3 else ""
    horizontal = "left" if thing.x < 1 / 3 else "right" if thing.x > 2 / 3 else ""
    if vertical and horizontal:
        return f"in the {vertical} {horizontal}"
    if horizontal:
        return f"on the {horizontal}"
    return f"at the {vertical}" if vertical else "in the middle"


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]
