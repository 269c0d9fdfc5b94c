import json
import tarfile

import pytest

from crossmodal.config import plugins

SPEECH, IMAGES = "PlacesAudio_400k_distro", "data/vision/torralba/deeplearning/images256"


@pytest.fixture
def places(small):
    return small("places")


def members(raw, name):
    with tarfile.open(raw / name) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}


@pytest.fixture
def lists(places):
    """Entries of each list."""
    found = members(places.raw, "PlacesAudio_400k_distro.tar.gz")
    return {
        name: json.loads(found[f"{SPEECH}/metadata/{name}.json"])["data"]
        for name in ("train", "val")
    }


def write_lists(places, lists):
    found = members(places.raw, "PlacesAudio_400k_distro.tar.gz")
    wavs = {m.removeprefix(f"{SPEECH}/"): content for m, content in found.items() if "wavs" in m}
    files = {f"{name}.json": entries for name, entries in lists.items()}
    places.layout.write_speech(places.raw, files, wavs)


def test_utterances_are_items_and_validation_equals_test(places, lists):
    dataset = places.prepare()
    for split, name in (("train", "train"), ("validation", "val"), ("test", "val")):
        expected = {f"{split}/{entry['uttid']}" for entry in lists[name]}
        assert {item.id for item in dataset.split(split)} == expected
        assert len(expected) == places.sizes[split]


def test_each_pair_has_its_image_its_speech_and_its_transcript(places, lists):
    dataset = places.prepare()
    images = members(places.raw, "imagesPlaces205_resize.tar.gz")
    speech = members(places.raw, "PlacesAudio_400k_distro.tar.gz")
    entries = {entry["uttid"]: entry for entry in lists["train"] + lists["val"]}
    captions = {caption.item: caption for caption in dataset.captions}
    assert len(captions) == len(dataset.captions) == len(dataset.items)
    for item in dataset.items:
        entry, caption = entries[item.id.rpartition("/")[2]], captions[item.id]
        assert dataset.read(item.image) == images[f"{IMAGES}/{entry['image']}"]
        assert dataset.read(caption.audio) == speech[f"{SPEECH}/{entry['wav']}"]
        assert caption.text == entry["asr_text"].strip()


def test_an_image_may_be_described_twice(places, lists):
    images = [entry["image"] for entry in lists["train"]]
    twice = {image for image in images if images.count(image) > 1}
    assert twice
    dataset = places.prepare()
    pairs = [f"train/{entry['uttid']}" for entry in lists["train"] if entry["image"] in twice]
    contents = [dataset.read(item.image) for item in dataset.items if item.id in pairs]
    assert len(contents) == len(pairs) == 2 * len(twice)
    assert len(set(contents)) == len(twice)


def test_a_slash_before_the_paths_does_not_matter(places, lists):
    expected = places.prepare().items
    for entry in lists["train"] + lists["val"]:
        entry["image"], entry["wav"] = f"/{entry['image']}", f"/{entry['wav']}"
    write_lists(places, lists)
    assert places.prepare().items == expected


@pytest.mark.parametrize(("key", "archive"), [("image", "imagesPlaces205"), ("wav", "PlacesAudio")])
def test_a_file_that_is_not_in_its_archive_is_named(places, lists, failure, key, archive):
    lists["val"][1][key] = "nowhere/to_be.found"
    write_lists(places, lists)
    message = failure(places.prepare)
    assert archive in message
    assert "nowhere/to_be.found" in message


@pytest.mark.parametrize("damage", [{"uttid": None}, {"asr_text": None}, {"wav": 5}])
def test_an_entry_of_another_form_names_its_list(places, lists, failure, damage):
    entry = lists["val"][0] | damage
    lists["val"][0] = {key: value for key, value in entry.items() if key != "uttid" or value}
    write_lists(places, lists)
    assert "metadata/val.json: not a list of utterances" in failure(places.prepare)


def test_a_truncated_list_is_refused(places, lists, failure):
    write_lists(places, lists | {"train": lists["train"][1:]})
    assert "89 items in split 'train', but the dataset declares 90" in failure(places.prepare)


def test_the_declared_sizes_are_the_published_ones():
    counts = plugins.make("datasets", "places", {}, "datasets.places").counts()
    assert counts == {"train": 402_385, "validation": 1000, "test": 1000}
