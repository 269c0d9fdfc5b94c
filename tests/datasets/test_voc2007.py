import numpy as np
import pytest
import scipy.io

from crossmodal.config import plugins
from crossmodal.datasets.voc2007 import CLASSES
from crossmodal.errors import CrossmodalError
from tests.datasets import layouts
from tests.datasets.layouts import voc2007 as layout

MAIN = "VOCdevkit/VOC2007/ImageSets/Main"


@pytest.fixture
def voc2007(small):
    return small("voc2007")


def published(raw, part):
    """Tag numbers of each photograph, from 1, in the published order."""
    variables = scipy.io.loadmat(raw / layout.PARTS[part][2])
    entries = np.concatenate([variables["D1"][0], variables["D2"][0]])
    return {entry["filename"].item()[:-4]: entry["taglist"].ravel() for entry in entries}


def test_photographs_with_tags_are_items_of_their_official_part(voc2007):
    dataset = voc2007.prepare()
    for part, splits in (("train", ("train", "validation")), ("test", ("test",))):
        tags = published(voc2007.raw, part)
        tagged = [id for id, numbers in tags.items() if len(numbers)]
        assert [item.id for item in dataset.split(*splits)] == tagged
        assert len(tags) - len(tagged) == layout.UNTAGGED
    assert len(dataset.split("validation")) == 20


def test_an_item_has_all_its_classes_and_its_photograph(voc2007):
    dataset = voc2007.prepare()
    for part, splits in (("train", ("train", "validation")), ("test", ("test",))):
        members = layouts.members(voc2007.raw / layout.PARTS[part][0])
        texts = {n: members[f"{MAIN}/{n}_{layout.PARTS[part][1]}.txt"].decode() for n in CLASSES}
        marks = {name: dict(map(str.split, text.splitlines())) for name, text in texts.items()}
        for item in dataset.split(*splits):
            assert set(item.labels) == {name for name in CLASSES if marks[name][item.id] != "-1"}
            assert item.category == ""
            image = members[f"VOCdevkit/VOC2007/JPEGImages/{item.id}.jpg"]
            assert dataset.read(item.image) == image
    assert max(len(item.labels) for item in dataset.items) == 2


def test_the_published_tags_count_each_word_of_each_item(voc2007):
    dataset = voc2007.prepare()
    lists = published(voc2007.raw, "train") | published(voc2007.raw, "test")
    expected = np.zeros((len(dataset.items), 399))
    for row, item in enumerate(dataset.items):
        for word in lists[item.id].astype(int):
            expected[row, word - 1] += 1
    np.testing.assert_array_equal(dataset.published("tags"), expected)
    assert expected.max() > 1
    assert expected[:, -1].any()


def test_the_draw_of_validation_items_follows_the_seed_alone(voc2007):
    first, again, other = (voc2007.prepare(seed=seed).splits for seed in (0, 0, 1))
    assert first == again != other
    assert {id for id, s in first.items() if s == "test"} == {
        id for id, s in other.items() if s == "test"
    }


@pytest.mark.parametrize("word", [0, 400])
def test_a_tag_that_is_none_of_the_words_is_refused(voc2007, failure, word):
    path = voc2007.raw / "test.mat"
    variables = {k: v for k, v in scipy.io.loadmat(path).items() if k[0] != "_"}
    variables["D2"][0, 4]["taglist"][0, 0] = word
    scipy.io.savemat(path, variables)
    found = failure(voc2007.prepare)
    assert str(path) in found
    assert "1..399" in found


@pytest.mark.parametrize("damage", ["missing", "cut", "page", "half", "other"])
def test_corrupt_tags_are_named(voc2007, failure, damage):
    path = voc2007.raw / "train.mat"
    content = path.read_bytes()
    path.unlink()
    if damage == "half":
        scipy.io.savemat(path, {"D1": [1.0]})
    elif damage == "other":
        scipy.io.savemat(path, {"D1": [1.0], "D2": [2.0]})
    elif damage != "missing":
        path.write_bytes(content[:2000] if damage == "cut" else b"<html>no such page</html>" * 9)
    assert str(path) in failure(voc2007.prepare)


def test_a_photograph_that_is_not_in_the_archive_is_named(voc2007, failure):
    name = "VOCdevkit/VOC2007/JPEGImages/000009.jpg"
    layouts.repack(voc2007.raw / "VOCtrainval_06-Nov-2007.tar", lambda members: members.pop(name))
    found = failure(voc2007.prepare)
    for fragment in ("VOCtrainval_06-Nov-2007.tar", name):
        assert fragment in found


def test_a_photograph_without_classes_is_named(voc2007, failure):
    path = voc2007.raw / "VOCtest_06-Nov-2007.tar"

    def change(members):
        for name in members:
            if name.endswith("_test.txt"):
                members[name] = members[name].replace(b"000008  1", b"000008 -1")
                members[name] = members[name].replace(b"000008  0", b"000008 -1")

    layouts.repack(path, change)
    found = failure(voc2007.prepare)
    for fragment in ("test.mat", "'000008.jpg'", path.name):
        assert fragment in found


def test_a_wrong_line_of_a_class_is_named_with_its_number(voc2007, failure):
    path = voc2007.raw / "VOCtrainval_06-Nov-2007.tar"
    name = f"{MAIN}/dog_trainval.txt"
    layouts.repack(path, lambda m: m.update({name: m[name].replace(b" -1\n", b" 2\n", 1)}))
    found = failure(voc2007.prepare)
    for fragment in (str(path), "dog_trainval.txt", "line 1", "-1, 0 or 1"):
        assert fragment in found


@pytest.mark.parametrize("validation", [0, 5000])
def test_validation_leaves_something_to_train_on(validation):
    with pytest.raises(CrossmodalError, match=r"voc2007(\.|: )validation"):
        plugins.make(
            "datasets", "voc2007", {"validation": validation, "seed": 0, "sizes": None}, "voc2007"
        )


def test_unstated_sizes_are_refused_before_images(voc2007, failure, monkeypatch):
    inferred = layout.CONSTANTS["Voc2007.parts"]
    monkeypatch.setattr("crossmodal.datasets.voc2007.Voc2007.parts", {**inferred, "train": 91})
    photographs = voc2007.raw / layout.PARTS["train"][0]
    content = photographs.read_bytes()
    photographs.unlink()  # is not looked for yet
    assert "91 training" in failure(voc2007.prepare)
    photographs.write_bytes(content)
    assert voc2007.prepare(sizes=inferred).items
