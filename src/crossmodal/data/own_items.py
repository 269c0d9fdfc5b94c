"""Items of the caller: images, texts or speech that are in no prepared dataset."""

import io
from collections.abc import Collection, Sequence
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.errors import CrossmodalError
from crossmodal.io.image_files import to_rgb

if TYPE_CHECKING:
    from PIL.Image import Image

NO_LISTS = (str, bytes, dict, set, frozenset)  # the last ones without an order
MODALITIES = {"images": "image", "texts": "text", "speech": "speech"}


class OwnItems(Items):
    """Stands in for a prepared dataset: entry i is the item, and the caption, with id "i".

    Exactly one of the three arguments is given. Files are read when they are needed.

    Args:
        images: Paths, contents of image files, or Pillow's images.
        texts: Texts.
        speech: Paths, contents of audio files, or pairs of a waveform and its sampling rate in Hz;
            a waveform is float in [-1, 1] with shape (samples,) or (samples, channels).

    Attributes:
        modality: 'image', 'text' or 'speech'.

    Raises:
        CrossmodalError: If not exactly one argument is given, it is empty, or a text is blank.
    """

    def __init__(
        self,
        images: Sequence[object] | None = None,
        texts: Sequence[str] | None = None,
        speech: Sequence[object] | None = None,
    ) -> None:
        arguments = {"images": images, "texts": texts, "speech": speech}
        given = [name for name, entries in arguments.items() if entries is not None]
        if len(given) != 1:
            raise CrossmodalError(
                f"give exactly one of images, texts and speech, not {' and '.join(given) or 'none'}"
            )
        (self.name,) = given
        self.modality = MODALITIES[self.name]
        entries = arguments[self.name]
        if isinstance(entries, NO_LISTS) or not isinstance(entries, Collection) or not len(entries):
            raise CrossmodalError(f"{self.name}: give a list with at least one entry")
        names = [self._name_of(*entry) for entry in enumerate(entries)]
        self._entries = dict(zip(names, entries, strict=True))
        self._columns = dict.fromkeys(MODALITIES, [""] * len(entries))
        self._columns[self.name] = self._texts() if self.name == "texts" else names

    @cached_property
    def items(self) -> list[Item]:
        """Return the entries as items."""
        return [Item(str(n), "", (), image) for n, image in enumerate(self._columns["images"])]

    @cached_property
    def captions(self) -> list[Caption]:
        """Return the entries as captions."""
        rows = zip(self._columns["texts"], self._columns["speech"], strict=True)
        return [Caption(str(n), str(n), text, speech) for n, (text, speech) in enumerate(rows)]

    def _name_of(self, number: int, entry: object) -> str:
        path = f" ({entry})" if self.name != "texts" and isinstance(entry, str | Path) else ""
        return f"{self.name}[{number}]{path}"

    def _texts(self) -> list[str]:
        texts = []
        for name, text in self._entries.items():
            if not isinstance(text, str) or not text.strip():
                raise CrossmodalError(f"{name}: is {text!r}; give a string that is not blank")
            texts.append(text)
        return texts

    def where(self, member: str) -> str:
        """Return the number of the entry, and its path if it is one."""
        return member

    def read(self, member: str) -> bytes:
        """Return the encoded image or speech; Pillow's images become PNG, waveforms WAV of float32.

        Raises:
            CrossmodalError: If the entry cannot be read, or is of another type.
        """
        if not member:
            raise CrossmodalError(f"{self.name}: the feature describes items of another modality")
        try:
            return _encoded(self._entries[member])
        except Exception as error:  # Pillow's readers raise anything on corrupt files
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise CrossmodalError(f"{member}: cannot be read: {reason}") from error


def _encoded(entry: Any) -> bytes:
    from PIL.Image import Image

    match entry:
        case bytes():
            return entry
        case str() | Path():
            return Path(entry).read_bytes()
        case Image():
            return _png(entry)
        case (samples, rate):
            return _wav(samples, index(rate))
    raise TypeError(
        f"it is of type {type(entry).__name__}; give a path, its bytes, a Pillow image, or a "
        "waveform with its rate"
    )


def _png(image: "Image") -> bytes:
    stream = io.BytesIO()
    to_rgb(image).save(stream, "PNG", exif=b"")  # it is turned already
    return stream.getvalue()


def _wav(samples: ArrayLike, rate: int) -> bytes:
    import soundfile

    waveform = np.asarray(samples)
    if waveform.dtype.kind != "f" or waveform.ndim not in (1, 2):
        raise ValueError(
            f"the waveform is {waveform.dtype} with shape {waveform.shape}; give floats in [-1, 1] "
            "with shape (samples,) or (samples, channels)"
        )
    stream = io.BytesIO()
    soundfile.write(stream, waveform, rate, format="WAV", subtype="FLOAT")
    return stream.getvalue()
