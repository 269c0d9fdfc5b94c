from collections import Counter

import pytest

from crossmodal.datasets.pascal_sentences import PascalSentences
from tests.datasets import layouts
from tests.datasets.layouts import pascal_sentences as layout

PAGE, IMAGES = "index.html", "VOCtrainval_14-Jul-2008.tar"


@pytest.fixture
def pascal(small):
    return small("pascal_sentences")


def change_page(raw, old, new):
    content = (raw / PAGE).read_bytes()
    assert old in content
    (raw / PAGE).write_bytes(content.replace(old, new))


def test_items_are_photographs_with_their_category(pascal):
    dataset = pascal.prepare()
    assert [f"{item.id}.jpg" for item in dataset.items] == list(layout.files())
    for item in dataset.items:
        assert item.category == item.id.split("/")[0]
        assert item.labels == (item.category,)


def test_a_photograph_of_two_categories_is_two_items(pascal):
    images = {i.id: i.image for i in pascal.prepare().items if i.id.endswith(layout.SHARED[:-4])}
    assert set(images) == {"aeroplane/2008_000001", "bicycle/2008_000001"}


def test_every_image_is_that_of_the_archive(pascal):
    dataset = pascal.prepare()
    images = layouts.members(pascal.raw / IMAGES)
    for item in dataset.items:
        name = f"VOCdevkit/VOC2008/JPEGImages/{item.id.split('/')[1]}.jpg"
        assert dataset.read(item.image) == images[name]


def test_all_captions_are_kept_be_they_four_five_or_six(pascal):
    dataset = pascal.prepare()
    found = [(caption.id, caption.item, caption.text) for caption in dataset.captions]
    assert found == [
        (f"{file[:-4]}#{number}", file[:-4], text.replace("\u201d", "\ufffd"))
        for file in layout.files()
        for number, text in enumerate(layout.captions(file))
    ]
    counts = Counter(caption.item for caption in dataset.captions)
    assert Counter(counts.values()) == {5: 158, 4: 1, 6: 1}
    assert any("&" in text and "“" not in text for *_, text in found)


def test_every_split_has_each_category_as_often(pascal):
    dataset = pascal.prepare()
    for split, size in zip(("train", "validation", "test"), layout.SIZES, strict=True):
        counts = Counter(item.category for item in dataset.split(split))
        assert counts == dict.fromkeys(layout.CATEGORIES, size)


def test_the_split_follows_the_seed_alone(pascal):
    first, again, other = (pascal.prepare(seed=seed).splits for seed in (0, 0, 1))
    assert first == again != other


def test_every_photograph_may_fall_into_every_split(pascal):
    files = list(layout.files())
    seen = {file: set() for file in files}
    for seed in range(100):  # the chance to miss a quarter is 3e-13
        for file, split in PascalSentences(seed=seed)._split(files).items():
            seen[file].add(split)
    assert {len(splits) for splits in seen.values()} == {3}


def test_a_category_of_another_size_is_named(pascal, failure):
    change_page(pascal.raw, b'"bird/2008_000017.jpg"', b'"cat/2008_000017.jpg"')
    found = failure(pascal.prepare)
    for fragment in (PAGE, "photographs of 'bird', not 8"):
        assert fragment in found


@pytest.mark.parametrize("missing", ["image", "captions"])
def test_a_photograph_without_image_or_captions_is_named(pascal, failure, missing):
    if missing == "image":
        name = "VOCdevkit/VOC2008/JPEGImages/2008_000017.jpg"
        layouts.repack(pascal.raw / IMAGES, lambda members: members.pop(name))
    else:
        before, image, after = (
            (pascal.raw / PAGE).read_bytes().partition(b'"bird/2008_000017.jpg"></td>')
        )
        (pascal.raw / PAGE).write_bytes(before + image + after[after.index(b"</tbody>") :])
    found = failure(pascal.prepare)
    for fragment in ("'bird/2008_000017.jpg'", PAGE, IMAGES):
        assert fragment in found


def test_a_photograph_that_is_there_twice_is_named(pascal, failure):
    change_page(pascal.raw, b'"bird/2008_000017.jpg"', b'"bird/2008_000018.jpg"')
    assert "'bird/2008_000018.jpg' occurs twice" in failure(pascal.prepare)


@pytest.mark.parametrize("content", [None, b"", b"<html>Not found</html>"])
def test_a_page_without_photographs_is_named(pascal, failure, content):
    (pascal.raw / PAGE).unlink()
    if content is not None:
        (pascal.raw / PAGE).write_bytes(content)
    assert str(pascal.raw / PAGE) in failure(pascal.prepare)


def test_addresses_may_be_relative_or_whole(pascal):
    expected = pascal.prepare().items
    change_page(pascal.raw, b'<img src="', b'<img src="http://vision.cs.uiuc.edu/pascal-sentences/')
    assert pascal.prepare().items == expected
