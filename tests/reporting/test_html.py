import base64
import io
import re

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.html import SIDE, Showing


def picture(size):
    stream = io.BytesIO()
    Image.new("RGBA", size, (0, 0, 255, 255)).save(stream, "PNG")
    return stream.getvalue()


def clip():
    stream = io.BytesIO()
    tone = 0.5 * np.sin(np.arange(8000) / 8)
    soundfile.write(stream, tone, 16000, format="WAV")
    return stream.getvalue()


@pytest.fixture
def showing(tmp_path):
    with Writer(tmp_path) as out:
        out.item("a", "train", "sea & sun", ("sea & sun", "ball"), picture((400, 200)), ".png")
        out.caption("a0", "a", "A <b>ball</b>.", clip(), ".wav")
        out.caption("a1", "a", "Waves.")
        out.item("b", "test", "alps", image=b"no picture", suffix=".jpg")
        out.item("c", "test")
    return Showing(Prepared(tmp_path))


def inlined(html):
    (kind, content) = re.search(r'src="data:([a-z/]+);base64,([^"]+)"', html).groups()
    return kind, io.BytesIO(base64.b64decode(content))


def test_a_picture_is_a_small_jpeg_inside_the_page(showing):
    html = showing.row("image", "a")
    kind, content = inlined(html)
    with Image.open(content) as image:
        assert (kind, image.format, image.size) == ("image/jpeg", "JPEG", (SIDE, SIDE // 2))
        red, _, blue = image.getpixel((5, 5))
        assert blue > 200 > red
    assert "sea &amp; sun, ball" in html


def test_speech_is_a_player_with_the_same_sound_and_its_text(showing):
    html = showing.row("speech", "a0")
    kind, content = inlined(html)
    samples, rate = soundfile.read(content)
    assert (kind, rate) == ("audio/mpeg", 16000)
    assert abs(np.fft.rfft(samples)).argmax() * 16000 / len(samples) == pytest.approx(318, abs=5)
    assert "A &lt;b&gt;ball" in html


def test_text_is_escaped_and_an_items_text_is_all_its_captions(showing):
    assert "A &lt;b&gt;ball&lt;/b&gt;." in showing.row("text", "a0")
    assert "Waves." in showing.row("text", "a1")
    assert "ball&lt;/b&gt;.<br>Waves." in showing.row("text", "a")


@pytest.mark.parametrize("modality", ["image", "text", "speech"])
def test_what_a_dataset_does_not_have_is_shown_by_its_id(showing, modality):
    assert "<div>c</div>" in showing.row(modality, "c")


def test_a_corrupt_picture_is_named(showing):
    with pytest.raises(CrossmodalError, match=r"images/b\.jpg"):
        showing.row("image", "b")
