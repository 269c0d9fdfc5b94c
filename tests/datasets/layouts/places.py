"""Places audio captions in small: utterances with two lists in one tar.gz, images in another."""

import io
import json
import tarfile

import numpy as np
import soundfile

from crossmodal.rendering.grammar import captions
from crossmodal.rendering.image import draw, jpeg
from crossmodal.rendering.scene import CATEGORIES, random_scene

OPTIONS = {}
SIZES = {"train": 60, "validation": 20, "test": 20}
LISTS = {"train": "train.json", "validation": "val.json"}
BASES = {
    "audio_base_path": "/data/sls/PlacesAudio_400k_distro/",
    "image_base_path": "/data/vision/torralba/deeplearning/images256/",
}


def make(folder, rng, sizes=SIZES):
    """Write both archives; validation pairs are test pairs, and some images are described twice."""
    lists, utterances, images, count = {}, {}, {}, 0
    for split, file in LISTS.items():
        lists[file] = []
        for _ in range(sizes[split]):
            if count % 10 != 9:  # the tenth is a second description
                category = CATEGORIES[count % len(CATEGORIES)]
                scene = random_scene(category, rng)
                image = f"{category[0]}/{category}/gsun_{count:032x}.jpg"
                images[image] = jpeg(draw(scene, 32, rng))
            data = entry(count, image, captions(scene, 1, rng)[0])
            utterances[data["wav"]] = speech(count, rng)
            lists[file].append(data)
            count += 1
    images["z/zoo/gsun_of_no_utterance.jpg"] = b"\xff\xd8"
    write_speech(folder, lists, utterances)
    write_images(folder, images)


def entry(number, image, text):
    """One utterance of a list."""
    return {
        "uttid": f"A{number % 7:013d}-GSUN_{number:032X}",
        "speaker": f"A{number % 7:013d}",
        "asr_text": f"{text.lower()} ",
        "wav": f"wavs/{number % 3}/utterance_{number}.wav",
        "image": image,
    }


def speech(number, rng):
    """Noise and a tone, a tenth of a second."""
    times = np.arange(1600) / 16_000
    samples = 0.3 * np.sin(2 * np.pi * (200 + 50 * number) * times) + rng.normal(0, 0.01, 1600)
    stream = io.BytesIO()
    soundfile.write(stream, samples, 16_000, format="WAV", subtype="PCM_16")
    return stream.getvalue()


def write_speech(folder, lists, utterances):
    """The archive of the utterances, of which the lists are a part."""
    files = {f"metadata/{file}": BASES | {"data": data} for file, data in lists.items()}
    files = {name: json.dumps(content).encode() for name, content in files.items()}
    members = {"README.txt": b"", **files, **utterances}
    write_tar(folder / "PlacesAudio_400k_distro.tar.gz", "PlacesAudio_400k_distro", members)


def write_images(folder, images):
    """The archive of the photographs."""
    root = "data/vision/torralba/deeplearning/images256"
    write_tar(folder / "imagesPlaces205_resize.tar.gz", root, images)


def write_tar(path, root, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"{root}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
