import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from crossmodal.config import plugins


@pytest.fixture
def flickr30k(small):
    return small("flickr30k")


def entries(raw):
    with zipfile.ZipFile(raw / "caption_datasets.zip") as archive:
        return json.loads(archive.read("dataset_flickr30k.json"))["images"]


def images(raw):
    with tarfile.open(raw / "flickr30k-images.tar.gz") as archive:
        return {Path(m.name).name: archive.extractfile(m).read() for m in archive.getmembers()}


def test_the_images_of_the_split_file_are_items_in_their_split(flickr30k):
    dataset, names = flickr30k.prepare(), {"val": "validation"}
    expected = {Path(e["filename"]).stem: e["split"] for e in entries(flickr30k.raw)}
    assert dataset.splits == {id: names.get(split, split) for id, split in expected.items()}
    assert len(dataset.splits) == sum(flickr30k.sizes.values())


def test_every_image_has_its_bytes(flickr30k):
    dataset, contents = flickr30k.prepare(), images(flickr30k.raw)
    for item in dataset.items:
        assert dataset.read(item.image) == contents[f"{item.id}.jpg"]


def test_images_have_five_captions_in_order(flickr30k):
    dataset = flickr30k.prepare()
    written = {
        Path(entry["filename"]).stem: [s["raw"] for s in entry["sentences"]]
        for entry in entries(flickr30k.raw)
    }
    for item in dataset.items:
        found = [(c.id, c.text) for c in dataset.captions if c.item == item.id]
        expected = [" ".join(text.split()) for text in written[item.id]]
        assert found == [(f"{item.id}#{number}", text) for number, text in enumerate(expected)]


def test_letters_and_blanks_of_captions_are_those_of_the_file(flickr30k):
    texts = {caption.text for caption in flickr30k.prepare().captions}
    odd = {"A café 's dog — it 's 3 ' tall .", 'The "old" man, his dog &amp; the sea', "“Möwen”."}
    assert odd <= texts


def test_an_image_that_is_not_in_the_archive_is_named(flickr30k, failure):
    found = images(flickr30k.raw)
    lost = entries(flickr30k.raw)[7]["filename"]
    del found[lost]
    flickr30k.layout.write_images(flickr30k.raw, found)
    message = failure(flickr30k.prepare)
    assert "flickr30k-images.tar.gz" in message
    assert lost in message


def test_the_declared_sizes_are_the_published_ones():
    counts = plugins.make("datasets", "flickr30k", {}, "datasets.flickr30k").counts()
    assert counts == {"train": 29_000, "validation": 1014, "test": 1000}
