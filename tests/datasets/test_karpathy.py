import json
import zipfile

import pytest

from crossmodal.datasets._karpathy import Image, read_images
from crossmodal.errors import CrossmodalError


def entry(split="train", count=5, **changes):
    sentences = [{"tokens": ["a"], "raw": f"caption {n}", "sentid": n} for n in range(count)]
    return {"filename": "a.jpg", "split": split, "sentences": sentences, "imgid": 0} | changes


def write(folder, *entries):
    content = json.dumps({"images": entries, "dataset": "toy"})
    with zipfile.ZipFile(folder / "caption_datasets.zip", "w") as archive:
        archive.writestr("dataset_toy.json", content)


def test_images_keep_their_order_and_unused_splits_are_left_out(tmp_path):
    names = ["test", "restval", "val", "train"]
    write(tmp_path, *(entry(name, filename=f"{name}.jpg") for name in names))
    captions = tuple(f"caption {n}" for n in range(5))
    assert read_images(tmp_path, "dataset_toy.json") == [
        Image("test.jpg", "test", captions),
        Image("val.jpg", "validation", captions),
        Image("train.jpg", "train", captions),
    ]


def test_a_folder_is_part_of_the_path(tmp_path):
    write(tmp_path, entry(filepath="val2014"))
    assert read_images(tmp_path, "dataset_toy.json")[0].file == "val2014/a.jpg"


def test_too_few_captions_are_named_with_their_image(tmp_path):
    write(tmp_path, entry(), entry(count=4, filename="few.jpg"))
    with pytest.raises(CrossmodalError, match=r"toy\.json: image 'few\.jpg' has 4 captions"):
        read_images(tmp_path, "dataset_toy.json")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"images": 5}',
        '{"images": [5]}',
        '{"images": [{"split": "train"}]}',
        json.dumps({"images": [entry(sentences=[{"tokens": []}] * 5)]}),
        json.dumps({"images": [entry(sentences=None)]}),
        json.dumps({"images": [entry()]})[:-9],
    ],
)
def test_another_content_is_named(tmp_path, content):
    with zipfile.ZipFile(tmp_path / "caption_datasets.zip", "w") as archive:
        archive.writestr("dataset_toy.json", content)
    with pytest.raises(CrossmodalError, match=r"caption_datasets\.zip: dataset_toy\.json: not a"):
        read_images(tmp_path, "dataset_toy.json")
