"""Items of a dataset as parts of an HTML page that needs no other file."""

import base64
import io
from html import escape

import soundfile

from crossmodal.data.prepared import Prepared
from crossmodal.io.image_files import read_image
from crossmodal.io.sound_files import RATE, read_speech

SIDE = 160  # pixels


class Showing:
    """Shows the rows of a dataset's views.

    Args:
        dataset: The prepared dataset.
    """

    def __init__(self, dataset: Prepared) -> None:
        self.dataset = dataset
        self.items = {item.id: item for item in dataset.items}
        self.captions = {caption.id: caption for caption in dataset.captions}

    def row(self, modality: str, id: str) -> str:
        """Return a row as HTML: its picture, text or player, and its labels.

        What the dataset does not have, as where the authors published features alone, is shown by
        its id.

        Args:
            modality: 'image', 'text' or 'speech'.
            id: Of an item or a caption.

        Raises:
            CrossmodalError: If the file of the row is corrupt.
        """
        caption = self.captions.get(id)
        item = self.items[caption.item if caption else id]
        texts = [escape(own.text) for own in self.dataset.captions_of[item.id]]
        text = escape(caption.text) if caption else "<br>".join(texts)
        content = text or escape(id)
        if modality == "image":
            alternative = next(iter(texts), "") or escape(", ".join(item.labels) or id)
            content = self._picture(item.image, alternative) if item.image else escape(id)
        elif modality == "speech" and caption and caption.audio:
            content = f"{self._player(caption.audio)}<br>{text}"
        labels = escape(", ".join(item.labels))
        return f"<div>{content}</div><small>{labels}</small>"

    def _picture(self, member: str, alternative: str) -> str:
        image, stream = read_image(self.dataset.read(member), member), io.BytesIO()
        image.thumbnail((SIDE, SIDE))
        image.save(stream, "JPEG", quality=80)
        return f'<img alt="{alternative}" src="{_inline("image/jpeg", stream)}">'

    def _player(self, member: str) -> str:
        samples, stream = read_speech(self.dataset.read(member), member), io.BytesIO()
        soundfile.write(stream, samples.numpy(), RATE, format="MP3")
        return f'<audio controls preload="none" src="{_inline("audio/mpeg", stream)}"></audio>'


def _inline(kind: str, stream: io.BytesIO) -> str:
    """Return the content as an address."""
    return f"data:{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"
