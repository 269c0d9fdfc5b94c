import os
from collections import Counter
from pathlib import Path

import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.datasets.pascal_sentences import PascalSentences
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.datasets import layouts
from tests.datasets.layouts import pascal_sentences as layout

PAGE, IMAGES = "index.html", "VOCtrainval_14-Jul-2008.tar"
OWN, LABELS = "pascal-sentences.zip", "voc_labels.csv"


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


def test_a_repeated_caption_counts_once_and_is_counted(pascal):
    dataset = pascal.prepare()
    id = layout.REPEATED.removesuffix(".jpg")
    texts = [caption.text for caption in dataset.captions if caption.item == id]
    assert len(texts) == len({*texts}) == 5
    assert "has 1 repeated captions of a photograph, which count once" in dataset.remarks


@pytest.mark.parametrize(("photographs", "archive"), [("voc", IMAGES), ("page", OWN)])
def test_a_remark_says_which_photographs_they_are(pascal, photographs, archive):
    first = pascal.prepare(photographs=photographs).remarks[0]
    assert first == f"has the photographs of {archive}; their shorter side has 12 pixels (median)"


def test_own_photographs_of_the_page_need_no_other_archive(pascal):
    (pascal.raw / IMAGES).unlink()
    dataset, images = pascal.prepare(photographs="page"), layouts.members(pascal.raw / OWN)
    assert {f"{i.id}.jpg": dataset.read(i.image) for i in dataset.items} == images


def test_a_photograph_that_the_pages_archive_lacks_is_named(pascal, failure):
    layouts.repack(pascal.raw / OWN, lambda members: members.pop("bird/2008_000017.jpg"))
    found = failure(pascal.prepare, photographs="page")
    assert f"'bird/2008_000017.jpg' has 5 captions in {PAGE} and is not in {OWN}" in found


def test_labels_of_all_objects_leave_category_and_split(pascal):
    splits = pascal.prepare().splits
    dataset = pascal.prepare(labels="voc")
    unlabelled = layout.UNLABELLED.removesuffix(".jpg")
    expected = {f.removesuffix(".jpg"): tuple(layout.labels(f)) for f in layout.files()}
    del expected[unlabelled]
    assert {item.id: item.labels for item in dataset.items} == expected
    assert all(item.category == item.labels[0] for item in dataset.items)
    assert splits == {unlabelled: splits[unlabelled]} | dataset.splits
    assert f"leaves out 1 photographs without labels in {LABELS}" in dataset.remarks


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("image,labels", "image", "its columns are ['image']"),
        ("bird/2008_000017.jpg,bird", "bird/2008_000017.jpg,cat", "row 19: 'bird/2008_000017.jpg'"),
        ("bird/2008_000017.jpg", "bird/2008_000018.jpg", "row 20: 'bird/2008_000018.jpg'"),
        ("bird/2008_000017.jpg", "bird/17.jpg", "row 19: 'bird/17.jpg' is not on the page"),
    ],
)
def test_wrong_labels_are_named_with_their_row(pascal, failure, old, new, named):
    content = (pascal.raw / LABELS).read_text()
    assert old in content
    (pascal.raw / LABELS).write_text(content.replace(old, new, 1))
    found = failure(pascal.prepare, labels="voc")
    assert f"{pascal.raw / LABELS}: {named}" in found


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({}, [PAGE, IMAGES]),
        ({"photographs": "page"}, [PAGE, OWN]),
        ({"photographs": "page", "labels": "voc"}, [PAGE, OWN, LABELS]),
    ],
)
def test_only_files_that_the_options_need_are_sources(options, files):
    dataset = plugins.make("datasets", "pascal_sentences", {"seed": 0} | options, "pascal")
    assert [source.file for source in dataset.sources] == files


@pytest.mark.real
@pytest.mark.parametrize(
    ("labels", "sizes", "captions"),
    [("page", (800, 100, 100), 4995), ("voc", (790, 100, 97), 4930)],
)
def test_the_real_page_has_its_photographs(tmp_path, labels, sizes, captions):
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "pascal_sentences"
    if not raw.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no pascal_sentences")
    options = {"seed": 0, "photographs": "page", "labels": labels}
    prepare(PrepareSpec(plugin="pascal_sentences", options=options), raw, tmp_path / "prepared")
    dataset = Prepared(tmp_path / "prepared")
    found = Counter(dataset.splits.values())
    assert tuple(found[split] for split in ("train", "validation", "test")) == sizes
    assert len(dataset.captions) == captions
    assert "has 3 repeated captions of a photograph, which count once" in dataset.remarks
    several = sum(len(item.labels) > 1 for item in dataset.items)
    assert several == (544 if labels == "voc" else 0)
