import io

import numpy as np
import pytest
import torch
from PIL import Image

from crossmodal.data.own_items import OwnItems
from crossmodal.errors import CrossmodalError
from crossmodal.features.clip_image import ClipImage
from crossmodal.features.clip_text import ClipText

pytest.importorskip("open_clip")
from tests.pretrained.test_dual_encoder import picture, write_model

pytestmark = pytest.mark.usefixtures("cpu")
TEXTS = ["a dog", "a red ball", "grass"]


def encoded(image, mode="PNG"):
    stream = io.BytesIO()
    image.save(stream, mode)
    return stream.getvalue()


@pytest.fixture
def halves(tmp_path):
    """Both halves of a tiny dual encoder."""
    path = write_model(tmp_path / "clip.safetensors")
    found = ClipImage(weights=path.name), ClipText(weights=path.name, unit="caption")
    for feature in found:
        feature.setup(path)
    return found


def extracted(feature, **items):
    own = OwnItems(**items)
    return feature.extract(own, feature.rows(own), {})


def test_rows_are_the_encoders_unit_vectors(halves):
    image, text = halves
    pictures = [picture(seed) for seed in range(20)]
    found = extracted(image, images=[encoded(p) for p in pictures])
    expected = image.encoder.encode_images(image.encoder.pixels(pictures)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.dtype == np.float32
    found = extracted(text, texts=TEXTS)
    expected = text.encoder.encode_texts(TEXTS, torch.device("cpu")).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.shape[1] == 24


def test_pictures_are_read_like_all_pictures(halves):
    """Transparent ones on white, turned as their EXIF orientation says."""
    image, _ = halves
    clear = Image.new("RGBA", (30, 20), (0, 0, 0, 0))
    white = Image.new("RGB", (30, 20), "white")
    found = extracted(image, images=[encoded(clear), encoded(white)])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    with pytest.raises(CrossmodalError, match=r"^images\[0\]: "):
        extracted(image, images=[b"no picture"])


def test_both_halves_say_which_model_they_are_of(halves):
    first, second = (feature.learnt() for feature in halves)
    assert first == second
    assert first["weights"] == "clip.safetensors"
