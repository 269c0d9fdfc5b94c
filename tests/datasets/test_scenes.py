import csv
import io
import os
from collections import Counter

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal.config import plugins
from crossmodal.data.prepared import FILES, Prepared
from crossmodal.data.word_times import MEMBER, from_bytes
from crossmodal.data.writer import Writer
from crossmodal.datasets import scenes
from crossmodal.errors import CrossmodalError
from crossmodal.rendering.scene import CATEGORIES

SIZES = {"train": 24, "validation": 10, "test": 11}
OPTIONS = {**SIZES, "image_size": 48, "spoken": 2, "voices": 3, "seed": 7}


def prepare(folder, workers=2, **changes):
    dataset = plugins.make("datasets", "scenes", OPTIONS | changes, "datasets.scenes")
    with pytest.MonkeyPatch.context() as patch, Writer(folder) as out:
        patch.setattr(os, "sched_getaffinity", lambda _: set(range(workers)))
        patch.setattr(scenes, "BATCH", 12)
        dataset.prepare(folder / "absent", out)
        out.check(dataset.counts())
    return Prepared(folder)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def other_options(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("other"), image_size=32, spoken=0)


@pytest.mark.parametrize("workers", [1, 3])
def test_bytes_repeat_for_any_number_of_workers(prepared, workers, tmp_path):
    again = prepare(tmp_path, workers)
    for name in FILES:
        assert (again.folder / name).read_bytes() == (prepared.folder / name).read_bytes(), name


def test_another_seed_gives_other_scenes_and_another_order(prepared, tmp_path):
    other = prepare(tmp_path, seed=8, spoken=0)
    texts = {caption.text for caption in prepared.captions}
    assert np.mean([caption.text in texts for caption in other.captions]) < 0.1
    assert [i.category for i in other.items] != [i.category for i in prepared.items]


def test_item_counts_are_declared_and_categories_balanced(prepared):
    for split in ("train", "validation", "test"):
        counts = Counter(item.category for item in prepared.split(split))
        assert counts.total() == OPTIONS[split]
        assert set(counts) == set(CATEGORIES)
        assert max(counts.values()) - min(counts.values()) <= 1


def test_category_is_one_of_the_labels_and_labels_are_known(prepared):
    for item in prepared.items:
        assert item.category in item.labels
        assert set(item.labels) <= set(CATEGORIES)
    assert max(len(item.labels) for item in prepared.items) > 1


def test_images_decode_to_their_size_and_differ(prepared):
    contents = [prepared.read(item.image) for item in prepared.items]
    assert len(set(contents)) == len(contents)
    assert {Image.open(io.BytesIO(c)).size for c in contents} == {(48, 48)}


def test_items_have_five_captions_with_the_first_spoken(prepared):
    names = [f"{item.id}#{number}" for item in prepared.items for number in range(5)]
    assert [caption.id for caption in prepared.captions] == names
    for caption in prepared.captions:
        assert bool(caption.audio) == (int(caption.id[-1]) < OPTIONS["spoken"])


def test_spoken_captions_are_audible_clips_as_long_as_their_text(prepared):
    for caption in (c for c in prepared.captions if c.audio):
        samples, rate = soundfile.read(io.BytesIO(prepared.read(caption.audio)))
        assert rate == 16_000
        assert samples.ndim == 1
        assert np.abs(samples).max() > 0.05
        assert 0.02 < len(samples) / rate / len(caption.text) < 0.12  # seconds per letter


def test_times_of_words_are_kept_where_asked(prepared, tmp_path):
    timed = prepare(tmp_path, word_times=True)
    times = from_bytes(timed.read(MEMBER))
    for caption in timed.captions:
        assert timed.captions == prepared.captions
        assert (caption.id in times) == bool(caption.audio)
        if caption.audio:
            assert timed.read(caption.audio) == prepared.read(caption.audio)
            assert {word.text for word in times[caption.id]} <= {*caption.text.lower().split()}
    with pytest.raises(CrossmodalError, match=MEMBER):
        prepared.read(MEMBER)


def test_captions_do_not_depend_on_image_size_and_speech(prepared, other_options):
    assert [c.text for c in other_options.captions] == [c.text for c in prepared.captions]
    assert not any(caption.audio for caption in other_options.captions)
    assert Image.open(io.BytesIO(other_options.read("images/scene00000.jpg"))).size == (32, 32)


def test_ids_reveal_neither_split_nor_category():
    options = OPTIONS | {"train": 1000, "validation": 200, "test": 200}
    plans = plugins.make("datasets", "scenes", options, "datasets.scenes")._plans()
    assert [plan.index for plan in plans] == list(range(1400))
    for attribute in ("split", "category"):
        values = np.array([getattr(plan, attribute) for plan in plans])
        for value in np.unique(values):
            places = np.flatnonzero(values == value) / len(plans)
            # the mean of n uniform places has standard deviation 1 / sqrt(12 n)
            assert abs(places.mean() - 0.5) < 5 / np.sqrt(12 * len(places))
        share = (np.unique(values, return_counts=True)[1] / len(plans)) ** 2
        neighbours = (values[1:] == values[:-1]).mean()
        assert abs(neighbours - share.sum()) < 5 * np.sqrt(0.25 / len(plans))


def test_items_csv_names_nothing_that_tells_the_split(prepared):
    with (prepared.folder / "items.csv").open() as stream:
        for row in csv.DictReader(stream):
            assert row["image"] == f"images/{row['id']}.jpg"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train", 9),
        ("test", 0),
        ("image_size", 8),
        ("spoken", 6),
        ("voices", 0),
        ("voices", 37),
        ("seed", -1),
        ("seed", "1"),
    ],
)
def test_options_out_of_range_are_refused(key, value):
    with pytest.raises(CrossmodalError, match=f"datasets.scenes.{key}"):
        plugins.make("datasets", "scenes", OPTIONS | {key: value}, "datasets.scenes")
