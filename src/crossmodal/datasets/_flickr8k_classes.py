"""Classes of Flickr8k's photographs that follow from their captions: a rule of this project."""

import random
import re
from collections.abc import Iterable, Mapping

# whole words, in lower case
WORDS = {
    name: frozenset(words.split())
    for name, words in {
        "dog": "dog dogs puppy puppies greyhound greyhounds poodle",
        "horse": "horse horses",
        "bicycle": "bicycle bicycles bike bikes biker bikers biking bicyclist cyclist cyclists bmx",
        "motorcycle": "motorcycle motorcycles motorcyclist motorbike motocross",
        "car": "car cars truck",
        "skateboard": "skateboard skateboards skateboarder skateboarding skater",
        "snowboard": "snowboard snowboards snowboarder snowboarding",
        "ski": "ski skis skier skiers skiing",
        "surf": "surf surfs surfer surfers surfing surfboard",
        "boat": "boat boats canoe kayak kayaker raft",
        "soccer": "soccer",
        "football": "football",
        "baseball": "baseball",
        "basketball": "basketball",
        "tennis": "tennis",
        "swimming pool": "pool swims swimmer swimming",
        "climbing": "climb climbs climber climbers climbing",
        "swing": "swing swings swinging",
        "slide": "slide",
        "guitar": "guitar guitars guitarist",
    }.items()
}
AGREEING = 3
LARGEST = 200
SEED = 0


def classes(captions: Mapping[str, Mapping[int, str]]) -> dict[str, str]:
    """Return the class of each photograph that has one.

    A photograph is in a class if at least three of its captions hold one of the class's words and
    none holds a word of another class. Of a larger class, 200 photographs are drawn.

    Args:
        captions: Captions of each photograph, by its name and their numbers.
    """
    members: dict[str, list[str]] = {name: [] for name in WORDS}
    for photograph in sorted(captions):
        if name := _class(captions[photograph].values()):
            members[name].append(photograph)
    rng = random.Random(SEED)
    for photographs in members.values():
        rng.shuffle(photographs)
    return {photo: name for name, photos in members.items() for photo in photos[:LARGEST]}


def _class(captions: Iterable[str]) -> str | None:
    """Return the class of one photograph, if it is in one."""
    words = [set(re.findall("[a-z]+", caption.lower())) for caption in captions]
    named = {name: sum(not own.isdisjoint(w) for w in words) for name, own in WORDS.items()}
    names = [name for name, count in named.items() if count]
    return names[0] if len(names) == 1 and named[names[0]] >= AGREEING else None
