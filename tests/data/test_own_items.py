import io

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal.data.own_items import OwnItems
from crossmodal.errors import CrossmodalError
from crossmodal.io.image_files import ORIENTATION, read_image

NOISE = np.random.default_rng(0).integers(256, size=(9, 7, 4), dtype=np.uint8)


def pixels(own, row):
    return np.array(Image.open(io.BytesIO(own.read(own.items[row].image))))


def samples(own, row):
    return soundfile.read(io.BytesIO(own.read(own.captions[row].audio)), dtype="float32")


def test_each_entry_is_an_item_with_one_caption():
    own = OwnItems(texts=["a dog", "a cat"])
    assert [item.id for item in own.items] == ["0", "1"]
    assert [(c.id, c.item, c.text) for c in own.captions] == [
        ("0", "0", "a dog"),
        ("1", "1", "a cat"),
    ]
    assert own.modality == "text"


def test_files_and_their_contents_are_read_as_they_are(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"content")
    own = OwnItems(images=[path, str(path), b"other"])
    assert [own.read(item.image) for item in own.items] == [b"content", b"content", b"other"]


MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "F", "I", "I;16", "I;16B"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("orientation", [1, 6])
def test_pillow_images_are_seen_as_the_same_picture_in_a_file(mode, orientation):
    image = Image.fromarray(NOISE).convert("RGB")
    if mode[0] in "FI":
        image = Image.fromarray(NOISE[:, :, 0].astype("f4" if mode == "F" else "i4") * 200)
        image = image.point(lambda value: value / 51000 + 0) if mode == "F" else image
    image = image.convert(mode)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    stream = io.BytesIO()
    image.save(stream, "TIFF", exif=exif)
    own = OwnItems(images=[stream.getvalue(), Image.open(stream)])
    file, given = (np.array(read_image(own.read(item.image), "")) for item in own.items)
    assert file.shape[:2] == (NOISE.shape[:2] if orientation == 1 else NOISE.shape[1::-1])
    np.testing.assert_array_equal(given, file)
    assert given.std() > 20


@pytest.mark.parametrize("shape", [(400,), (400, 2)])
def test_waveforms_lose_nothing(rng, shape):
    wave = rng.uniform(-1, 1, shape).astype(np.float32)
    found, rate = samples(OwnItems(speech=[(wave, np.int64(8000))]), 0)
    assert np.array_equal(found, wave)
    assert rate == 8000


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({}, "exactly one of images, texts and speech, not none"),
        ({"images": [], "texts": []}, "not images and texts"),
        ({"images": []}, "images: give a list"),
        ({"images": "photo.jpg"}, "images: give a list"),
        ({"images": {"photo.jpg"}}, "images: give a list"),
        ({"texts": {"a": "b"}}, "texts: give a list"),
        ({"texts": ["a", " "]}, r"texts\[1\]: is ' '"),
        ({"texts": [1]}, r"texts\[0\]: is 1"),
    ],
)
def test_what_is_no_list_of_items_is_refused(entries, reason):
    with pytest.raises(CrossmodalError, match=reason):
        OwnItems(**entries)


@pytest.mark.parametrize(
    ("kind", "entry", "reason"),
    [
        ("images", "none.jpg", r"images\[0\] \(none\.jpg\): cannot be read: No such file"),
        ("images", None, r"images\[0\]: cannot be read: it is of type NoneType; give"),
        ("speech", (np.ones(9, np.int16), 8000), r"speech\[0\]: .*int16"),
        ("speech", (np.ones((1, 2, 3)), 8000), r"speech\[0\]: .*shape \(1, 2, 3\)"),
        ("speech", (np.ones(9), 8000.5), r"speech\[0\]: .*float"),
        ("speech", (np.ones(9), 0), r"speech\[0\]: "),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(kind, entry, reason):
    own = OwnItems(**{kind: [entry]})
    member = own.items[0].image or own.captions[0].audio
    with pytest.raises(CrossmodalError, match=reason):
        own.read(member)


def test_a_feature_of_another_modality_is_refused():
    with pytest.raises(CrossmodalError, match="texts: the feature describes items of another"):
        OwnItems(texts=["a"]).read("")
