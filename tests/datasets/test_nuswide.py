from collections import Counter

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.datasets import layouts
from tests.datasets.layouts import nuswide as layout

LISTS, TAGS, IMAGES = "ImageList.zip", "NUS_WID_Tags.zip", "Flickr.zip"
PROTOCOLS = list(layout.DATASETS)
ROW = {path.removesuffix(".jpg"): row for row, path in enumerate(layout.PATHS)}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The published files in small; not to be changed."""
    folder = tmp_path_factory.mktemp("nuswide")
    layout.make(folder, np.random.default_rng(0))
    return folder


@pytest.fixture
def small(monkeypatch):
    layouts.shrink(monkeypatch, "nuswide", layout.CONSTANTS)


@pytest.fixture
def raw(published, small, tmp_path):
    """Copies, to be changed."""
    (tmp_path / "raw").mkdir()
    for path in published.iterdir():
        (tmp_path / "raw" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "raw"


def run(raw, folder, entry="nuswide_81", **changes):
    prepare(PrepareSpec(plugin="nuswide", options=layout.DATASETS[entry] | changes), raw, folder)
    return Prepared(folder)


def failure(raw, folder, entry="nuswide_81"):
    with pytest.raises(CrossmodalError) as caught:
        run(raw, folder, entry)
    assert list(folder.iterdir()) == []
    return str(caught.value)


def rows(items):
    return [ROW[item.id] for item in items]


@pytest.mark.parametrize("entry", PROTOCOLS)
def test_items_have_concepts_photograph_and_all_tags(published, small, tmp_path, entry):
    dataset = run(published, tmp_path, entry)
    texts = {caption.item: caption.text for caption in dataset.captions}
    images = layouts.members(published / IMAGES)
    for row, item in zip(rows(dataset.items), dataset.items, strict=True):
        assert item.labels == tuple(sorted(layout.SHOWN[row]))
        assert texts[item.id] == " ".join(layout.tags(row))
        assert dataset.read(item.image) == images[f"Flickr/{layout.PATHS[row]}"]
    assert rows(dataset.items) == sorted(rows(dataset.items))


@pytest.mark.parametrize("entry", PROTOCOLS)
def test_the_published_tags_are_those_of_the_list_in_its_order(published, small, tmp_path, entry):
    dataset = run(published, tmp_path, entry)
    found = dataset.published("tags")
    expected = [[w in layout.tags(row) for w in layout.WORDS] for row in rows(dataset.items)]
    np.testing.assert_array_equal(found, np.array(expected))


def test_all_concepts_protocol_keeps_parts_and_drops_textless(published, small, tmp_path):
    dataset = run(published, tmp_path)
    assert rows(dataset.items) == [row for row in layout.ROWS if row not in layout.NO_TEXT]
    assert {item.category for item in dataset.items} == {""}
    assert () in {item.labels for item in dataset.items}  # of no concept
    for item in dataset.items:
        trained = dataset.splits[item.id] in ("train", "validation")
        assert trained == layout.TRAINED[ROW[item.id]]


def test_top10_protocol_keeps_items_of_exactly_one_concept(published, small, tmp_path):
    dataset = run(published, tmp_path, "nuswide_top10")
    assert rows(dataset.items) == layout.TOP10_ROWS
    assert {item.category for item in dataset.items} == set(layout.TOP10)
    sizes = Counter(shown[0] for shown in layout.SHOWN if len(shown) == 1)
    assert {sizes[name] for name in layout.TIED} == {sizes[name] for name in layout.TOP10}
    for item in dataset.items:
        trained = dataset.splits[item.id] == "train"  # validation items come from the test part
        assert trained == layout.TRAINED[ROW[item.id]]


def test_10k_protocol_draws_concepts_equally_per_split(published, small, tmp_path):
    dataset = run(published, tmp_path, "nuswide_10k")
    assert set(rows(dataset.items)) < set(layout.TOP10_ROWS)
    for split, size in (("train", 16), ("validation", 2), ("test", 2)):
        counts = Counter(item.category for item in dataset.split(split))
        assert counts == dict.fromkeys(layout.TOP10, size)


@pytest.mark.parametrize("entry", PROTOCOLS)
def test_the_draw_follows_the_seed_alone(published, small, tmp_path, entry):
    first, again, other = (run(published, tmp_path, entry, seed=s).splits for s in (0, 0, 1))
    assert first == again != other


def test_items_without_tags_have_empty_caption_and_row(published, small, tmp_path):
    dataset = run(published, tmp_path, "nuswide_top10")
    tags = dict(zip(rows(dataset.items), dataset.published("tags"), strict=True))
    texts = {ROW[caption.item]: caption.text for caption in dataset.captions}
    untagged = set(layout.UNTAGGED) & set(tags)
    assert untagged
    for row in untagged:
        assert texts[row] == ""
        assert not tags[row].any()


def test_a_photograph_that_is_there_twice_is_two_items(published, small, tmp_path):
    items = {row: i for row, i in zip(ROW.values(), ROW, strict=True) if row in (14, 15)}
    found = {item.id for item in run(published, tmp_path).items}
    assert set(items.values()) <= found


@pytest.mark.parametrize(
    ("archive", "member", "old", "new"),
    [
        (TAGS, "AllTags1k.txt", b"1\t", b"2\t"),
        (TAGS, "AllTags81.txt", b"0 ", b""),
        ("Groundtruth.zip", "AllLabels/Labels_sky.txt", b"1\r\n", b"-1130179\r\n"),
        ("Groundtruth.zip", "AllLabels/Labels_sky.txt", b"", b""),
    ],
)
def test_flags_that_are_none_are_named(raw, tmp_path, archive, member, old, new):
    def change(members):
        members[member] = members[member].replace(old, new, 1) if old else b""

    layouts.repack(raw / archive, change)
    found = failure(raw, tmp_path / "prepared")
    for fragment in (archive, member, "zeros and ones"):
        assert fragment in found


@pytest.mark.parametrize("damage", ["cut", "swapped", "empty"])
def test_tags_of_other_photographs_are_noticed(raw, tmp_path, damage):
    def change(members):
        lines = members["All_Tags.txt"].splitlines(keepends=True)
        swapped = [*lines[:5], lines[6], lines[5], *lines[7:]]
        kept = {"cut": lines[:5], "swapped": swapped, "empty": [*lines[:5], b"\n", *lines[6:]]}
        members["All_Tags.txt"] = b"".join(kept[damage])

    layouts.repack(raw / TAGS, change)
    found = failure(raw, tmp_path / "prepared")
    for fragment in (TAGS, "All_Tags.txt", "line 6", repr(layout.PATHS[5])):
        assert fragment in found


@pytest.mark.parametrize("damage", ["cut", "twice", "both", "neither"])
def test_lists_that_do_not_part_all_photographs_are_refused(raw, tmp_path, damage):
    def change(members):
        name = "ImageList/TrainImagelist.txt" if damage == "neither" else "ImageList/Imagelist.txt"
        lines = members[name].splitlines(keepends=True)
        if damage == "both":
            name = "ImageList/TestImagelist.txt"
            lines = [*members[name].splitlines(keepends=True), lines[0], b""]
        if damage == "twice":
            lines = [lines[0], *lines]
        members[name] = b"".join(lines[:-1])

    layouts.repack(raw / LISTS, change)
    found = failure(raw, tmp_path / "prepared")
    for fragment in (LISTS, str(len(layout.SHOWN))):
        assert fragment in found


def test_a_missing_photograph_is_named(raw, tmp_path):
    name = f"Flickr/{layout.PATHS[30]}"
    layouts.repack(raw / IMAGES, lambda members: members.pop(name))
    assert name in failure(raw, tmp_path / "prepared")


def test_a_concept_of_the_ten_that_is_not_listed_is_named(raw, tmp_path):
    path = raw / "ConceptsList.zip"
    layouts.repack(path, lambda m: m.update({"Concepts81.txt": b"sky\r\nsea\r\n"}))
    found = failure(raw, tmp_path / "prepared")
    for fragment in (path.name, "'person'"):
        assert fragment in found


@pytest.mark.parametrize("file", [LISTS, "ConceptsList.zip", "Groundtruth.zip", TAGS, IMAGES])
def test_a_missing_archive_is_named(raw, tmp_path, file):
    (raw / file).unlink()
    assert file in failure(raw, tmp_path / "prepared")


@pytest.mark.parametrize(
    ("protocol", "validation"),
    [("10k", 9000), ("10k", 1005), ("top10", 28661), ("81", 79659), ("82", 10), ("81", 0)],
)
def test_what_the_protocol_does_not_admit_is_refused(protocol, validation):
    options = {"protocol": protocol, "validation": validation, "seed": 0, "sizes": None}
    with pytest.raises(CrossmodalError, match=r"datasets\.nuswide"):
        plugins.make("datasets", "nuswide", options, "datasets.nuswide")


@pytest.mark.parametrize("entry", ["nuswide_top10", "nuswide_81"])
def test_unstated_sizes_are_refused_before_images(raw, tmp_path, entry):
    def change(members):  # the first training photograph that is kept is now of no concept
        name = layout.SHOWN[row][0]
        lines = members[f"AllLabels/Labels_{name}.txt"].splitlines(keepends=True)
        lines[row] = b"0\r\n"
        members[f"AllLabels/Labels_{name}.txt"] = b"".join(lines)

    def untag(members):
        for name in ("AllTags1k.txt", "AllTags81.txt"):
            lines = members[name].splitlines(keepends=True)
            lines[row] = lines[row].replace(b"1", b"0")
            members[name] = b"".join(lines)

    row = next(r for r in layout.TOP10_ROWS if layout.TRAINED[r] and r not in layout.NO_TEXT)
    layouts.repack(raw / "Groundtruth.zip", change)
    layouts.repack(raw / TAGS, untag)
    images = (raw / IMAGES).read_bytes()
    (raw / IMAGES).unlink()  # is not looked for yet
    inferred = layout.COUNTS[entry.removeprefix("nuswide_")]
    sizes = {"train": inferred["train"] - 1, "test": inferred["test"]}
    with pytest.raises(CrossmodalError) as caught:
        run(raw, tmp_path / "prepared" / entry, entry)
    for fragment in (str(inferred["train"]), "inferred", f"datasets.{entry}.sizes"):
        assert fragment in str(caught.value)
    assert f"{{train: {sizes['train']}, test: {sizes['test']}}}" in str(caught.value)
    (raw / IMAGES).write_bytes(images)
    dataset = run(raw, tmp_path / "prepared", entry, sizes=sizes)
    assert len(dataset.split("train", "validation", "test")) == sum(sizes.values())


def test_stated_sizes_are_named(small):
    sizes = {"train": 9, "test": 50}
    options = layout.DATASETS["nuswide_top10"] | {"sizes": sizes}
    make = plugins.make
    departure = make("datasets", "nuswide", options, "nuswide").departure()
    assert departure.startswith("has 9 training and 50 test items instead of ")
    assert make("datasets", "nuswide", options | {"sizes": None}, "nuswide").departure() == ""


def test_a_draw_has_no_other_sizes(small):
    options = layout.DATASETS["nuswide_10k"] | {"sizes": {"train": 9, "test": 50}}
    with pytest.raises(CrossmodalError, match="10k"):
        plugins.make("datasets", "nuswide", options, "nuswide")
