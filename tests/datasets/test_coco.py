import json
import zipfile
from pathlib import Path

import pytest

from crossmodal.config import plugins


@pytest.fixture
def coco(small):
    return small("coco")


def entries(raw):
    with zipfile.ZipFile(raw / "caption_datasets.zip") as archive:
        return json.loads(archive.read("dataset_coco.json"))["images"]


def test_first_images_are_kept_and_restval_left_out(coco):
    dataset = coco.prepare()
    for split, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        listed = [Path(e["filename"]).stem for e in entries(coco.raw) if e["split"] == name]
        kept = listed[: coco.sizes[split]]
        assert {item.id for item in dataset.split(split)} == set(kept)


def test_the_layout_has_what_must_be_left_out(coco):
    found = [entry["split"] for entry in entries(coco.raw)]
    assert found.count("restval") > 0
    assert found.count("val") > coco.sizes["validation"]
    assert found.count("test") > coco.sizes["test"]


def test_every_image_has_its_bytes_from_the_archive_of_its_year(coco):
    dataset = coco.prepare()
    for part in ("train2014", "val2014"):
        with zipfile.ZipFile(coco.raw / f"{part}.zip") as archive:
            for item in dataset.items:
                if part in item.id:
                    assert dataset.read(item.image) == archive.read(f"{part}/{item.id}.jpg")


def test_the_first_five_captions_are_kept_without_the_line_end(coco):
    dataset = coco.prepare()
    written = {
        Path(entry["filename"]).stem: [sentence["raw"] for sentence in entry["sentences"]]
        for entry in entries(coco.raw)
    }
    assert {len(texts) for texts in written.values()} == {5, 6, 7}
    for item in dataset.items:
        found = [(c.id, c.text) for c in dataset.captions if c.item == item.id]
        expected = [text.strip() for text in written[item.id][:5]]
        assert found == [(f"{item.id}#{number}", text) for number, text in enumerate(expected)]


def test_an_image_that_is_not_in_its_archive_is_named(coco, failure):
    files = {}
    with zipfile.ZipFile(coco.raw / "val2014.zip") as archive:
        files = {Path(m).name: archive.read(m) for m in archive.namelist() if m[-1] != "/"}
    lost = next(e["filename"] for e in entries(coco.raw) if e["split"] == "test")
    del files[lost]
    coco.layout.write_images(coco.raw, "val2014", files)
    message = failure(coco.prepare)
    assert "val2014.zip" in message
    assert lost in message


def test_a_split_file_with_too_few_images_is_refused(coco, failure):
    found = entries(coco.raw)
    dropped = next(entry for entry in found if entry["split"] == "train")
    coco.layout.write_splits(coco.raw, [entry for entry in found if entry is not dropped])
    assert "89 items in split 'train', but the dataset declares 90" in failure(coco.prepare)


def test_the_declared_sizes_are_the_published_ones():
    counts = plugins.make("datasets", "coco", {}, "datasets.coco").counts()
    assert counts == {"train": 82_783, "validation": 1000, "test": 1000}


def test_all_test_images_are_kept_where_asked(coco, monkeypatch):
    monkeypatch.setattr("crossmodal.datasets.coco.WHOLE_TEST", 32)
    dataset = coco.prepare(whole_test=True)
    listed = [Path(e["filename"]).stem for e in entries(coco.raw) if e["split"] == "test"]
    assert [item.id for item in dataset.split("test")] == listed  # of which folds are parts
    assert len(dataset.split("validation")) == coco.sizes["validation"]


def test_plausible_matches_become_judgements_both_ways(coco):
    method = plugins.make("datasets", "coco", {"whole_test": True}, "datasets.coco")
    first, second = [e for e in entries(coco.raw) if e["split"] == "test"][:2]
    caption = second["sentences"][3]["sentid"]
    ways = {"image_to_caption": {first["cocoid"]: [caption]}}
    ways |= {"caption_to_image": {caption: [first["cocoid"], second["cocoid"]]}}
    for way, answers in ways.items():
        (coco.raw / f"pm_{way}.json").write_text(json.dumps(answers))
    images = [Path(entry["filename"]).stem for entry in (first, second)]
    text = f"{images[1]}#3"
    found = [(j.query, j.document, j.grade) for j in method.judge("plausible", coco.raw)]
    assert found == [(images[0], text, 1.0), (text, images[0], 1.0), (text, images[1], 1.0)]


def test_qrels_belong_to_all_test_images():
    few, every = (
        plugins.make("datasets", "coco", {"whole_test": whole}, "datasets.coco")
        for whole in (False, True)
    )
    assert not few.qrels
    assert [*every.qrels] == ["eccv", "cxc", "plausible"]
    assert few.sources == every.sources
    assert len(type(every).sources) == len(every.sources) + 2
