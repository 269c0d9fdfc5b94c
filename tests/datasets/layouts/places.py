"""Places audio captions: utterances and their lists in one tar.gz, photographs in another."""

import json

from tests.datasets.layouts import clip, pack, photograph, sentences, small

CONSTANTS = {"COUNTS": {"train": 90, "validation": 30, "test": 30}}
SMALL = small("places", **CONSTANTS)
DATASETS = {"places": {}}
TABLE = {
    "dataset": "places",
    "views": {"image": "colour", "text": "bow_caption"},
    "relevance": "category",
    "method": "ridge",
}
LISTS = {"train.json": 90, "val.json": 30}
SPEECH_ROOT = "PlacesAudio_400k_distro"
IMAGE_ROOT = "data/vision/torralba/deeplearning/images256"
BASES = {"audio_base_path": f"/data/sls/{SPEECH_ROOT}/", "image_base_path": f"/{IMAGE_ROOT}/"}


def make(folder, rng):
    """Write both archives; the tenth utterance of each ten is of the photograph of the ninth."""
    lists, wavs, images = {name: [] for name in LISTS}, {}, {}
    places = [name for name, count in LISTS.items() for _ in range(count)]
    for number, name in enumerate(places):
        if number % 10 != 9:
            image = f"a/abbey/gsun_{number:032x}.jpg"
            images[image] = photograph(number % 10, 10, rng)
        lists[name].append(entry(number, image, sentences(number % 10, 1, rng)[0]))
        wavs[f"wavs/{number % 3}/utterance_{number}.wav"] = clip(number % 10, rng)
    images["z/zoo/gsun_of_no_utterance.jpg"] = b"\xff\xd8"
    write_speech(folder, lists, wavs)
    pack(
        folder / "imagesPlaces205_resize.tar.gz",
        {f"{IMAGE_ROOT}/{file}": content for file, content in images.items()},
    )


def entry(number, image, text):
    """One utterance of a list."""
    return {
        "uttid": f"A{number % 7:013d}-GSUN_{number:032X}",
        "speaker": f"A{number % 7:013d}",
        "asr_text": f"{text} ",
        "wav": f"wavs/{number % 3}/utterance_{number}.wav",
        "image": image,
    }


def write_speech(folder, lists, wavs):
    """The archive of the utterances and the lists."""
    files = {f"metadata/{name}": json.dumps(BASES | {"data": d}) for name, d in lists.items()}
    members = {"README.txt": "", **files, **wavs}
    pack(
        folder / "PlacesAudio_400k_distro.tar.gz",
        {f"{SPEECH_ROOT}/{name}": content for name, content in members.items()},
    )
