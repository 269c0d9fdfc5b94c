import zipfile
from collections import defaultdict

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.errors import CrossmodalError
from tests.datasets import layouts
from tests.datasets.layouts import mirflickr as layout

IMAGES, LABELS, TAGS = layout.FILES


@pytest.fixture
def mirflickr(small):
    return small("mirflickr")


def test_photographs_without_tags_or_labels_are_left_out(mirflickr):
    dataset = mirflickr.prepare()
    kept = [n for n in range(1, layout.PHOTOGRAPHS + 1) if n not in layout.LEFT_OUT]
    assert [item.id for item in dataset.items] == [f"im{n}" for n in kept]
    for item in dataset.items:
        part = "train" if int(item.id[2:]) <= layout.TRAIN else "test"
        assert dataset.splits[item.id] in (
            ("train", "validation") if part == "train" else ("test",)
        )
    assert len(dataset.split("validation")) == 20


def test_items_have_labels_photograph_and_owner_tags(mirflickr):
    dataset = mirflickr.prepare()
    labels = defaultdict(set)
    with zipfile.ZipFile(mirflickr.raw / LABELS) as archive:
        for name in archive.namelist():
            for number in archive.read(name).split() if name != "README.txt" else ():
                labels[f"im{int(number)}"].add(name.removesuffix(".txt"))
    captions = {caption.item: caption.text for caption in dataset.captions}
    with zipfile.ZipFile(mirflickr.raw / IMAGES) as archive:
        for item in dataset.items:
            assert set(item.labels) == labels[item.id]
            assert dataset.read(item.image) == archive.read(f"mirflickr/{item.id}.jpg")
            tags = archive.read(f"mirflickr/meta/tags/tags{item.id[2:]}.txt").decode().split()
            assert captions[item.id].split() == tags
    assert len({name for item in dataset.items for name in item.labels}) == 38


def test_the_published_tags_are_the_counts_of_the_items(mirflickr):
    dataset = mirflickr.prepare()
    found = dataset.published("tags")
    assert found.shape == (len(dataset.items), layout.WORDS)
    captions = {caption.item: caption.text.split() for caption in dataset.captions}
    for item, row in zip(dataset.items, found, strict=True):
        assert {f"tag{w}" for w in np.flatnonzero(row)} == set(captions[item.id]) - {"2008", "café"}


def test_the_draw_of_validation_items_follows_the_seed_alone(mirflickr):
    first, again, other = (mirflickr.prepare(seed=seed).splits for seed in (0, 0, 1))
    assert first == again != other


def test_counts_of_tags_in_another_order_are_noticed(mirflickr, failure):
    def change(members):
        for n in layout.UNTAGGED:
            first, second = (f"mirflickr/meta/tags/tags{m}.txt" for m in (n, n + 5))
            members[first], members[second] = members[second], members[first]

    layouts.repack(mirflickr.raw / IMAGES, change)
    found = failure(mirflickr.prepare)
    for fragment in (IMAGES, "tags7.txt", TAGS):
        assert fragment in found


def test_tags_that_are_not_utf8_are_read(mirflickr):
    name = "mirflickr/meta/tags/tags1.txt"
    layouts.repack(mirflickr.raw / IMAGES, lambda m: m.update({name: b"caf\xe9\nsky\n"}))
    assert mirflickr.prepare().captions[0].text == "caf\ufffd sky"


@pytest.mark.parametrize("line", [b"0\r\n", b"151\r\n", b"im7\r\n"])
def test_a_label_of_no_photograph_is_named(mirflickr, failure, line):
    layouts.repack(mirflickr.raw / LABELS, lambda m: m.update({"sky.txt": b"1\r\n2\r\n" + line}))
    found = failure(mirflickr.prepare)
    for fragment in (LABELS, "sky.txt", "line 3", "1..150"):
        assert fragment in found


@pytest.mark.parametrize("damage", ["absent", "page", "rows"])
def test_corrupt_counts_are_named(mirflickr, failure, damage):
    def change(members):
        name = "flickr/text/text_all_2000_labelled.npz"
        if damage == "absent":
            del members[name]
        elif damage == "page":
            members[name] = b"<html>no such page</html>"
        else:
            members[name] = layout.stored(np.ones((7, layout.WORDS)))

    layouts.repack(mirflickr.raw / TAGS, change)
    found = failure(mirflickr.prepare)
    for fragment in (TAGS, "text_all_2000_labelled.npz"):
        assert fragment in found


@pytest.mark.parametrize("file", layout.FILES)
def test_a_missing_archive_is_named(mirflickr, failure, file):
    (mirflickr.raw / file).unlink()
    assert file in failure(mirflickr.prepare)


def test_a_missing_photograph_is_named(mirflickr, failure):
    layouts.repack(mirflickr.raw / IMAGES, lambda members: members.pop("mirflickr/im9.jpg"))
    assert "im9.jpg" in failure(mirflickr.prepare)


@pytest.mark.parametrize("validation", [0, 12144])
def test_validation_leaves_something_to_train_on(validation):
    with pytest.raises(CrossmodalError, match=r"mirflickr(\.|: )validation"):
        plugins.make(
            "datasets",
            "mirflickr",
            {"validation": validation, "seed": 0, "sizes": None},
            "mirflickr",
        )


def test_unstated_sizes_are_refused_before_images(mirflickr, failure):
    def unlabel(members):  # photograph 1 has no label any more
        for name, content in members.items():
            members[name] = content.replace(b"1\r\n", b"", content.startswith(b"1\r\n"))

    layouts.repack(mirflickr.raw / LABELS, unlabel)
    images = (mirflickr.raw / IMAGES).read_bytes()
    (mirflickr.raw / IMAGES).unlink()  # is not looked for yet
    inferred = layout.CONSTANTS["MirFlickr.parts"]
    sizes = {"train": inferred["train"] - 1, "test": inferred["test"]}
    found = failure(mirflickr.prepare)
    for fragment in (str(inferred["train"]), "inferred", "datasets.prepared.sizes"):
        assert fragment in found
    (mirflickr.raw / IMAGES).write_bytes(images)
    dataset = mirflickr.prepare(sizes=sizes)
    assert len(dataset.split("train", "validation")) == sizes["train"]
    assert "im1" not in dataset.splits
