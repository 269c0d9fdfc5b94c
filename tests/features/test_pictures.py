import io

import numpy as np
import pytest
from PIL import Image

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.pictures import Pictures


def encode(colour, size):
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def prepared(tmp_path):
    def make(*files):
        with Writer(tmp_path) as out:
            for number, file in enumerate(files):
                out.item(f"{number}", "train", image=file, suffix=".png")
                out.caption(f"{number}", f"{number}", text="words")
        return Prepared(tmp_path)

    return make


def test_rows_are_the_bytes_of_the_files(prepared):
    files = [encode("red", (9, 5)), encode("blue", (40, 30))]
    dataset = prepared(*files)
    found = Pictures().extract(dataset, Pictures().rows(dataset), {})
    assert [row.tobytes() for row in found] == files
    assert all(row.dtype == np.uint8 for row in found)


def test_a_corrupt_file_is_named(prepared):
    dataset = prepared(encode("red", (90, 50)), encode("red", (90, 50))[:60])
    with pytest.raises(CrossmodalError, match=r"images/1\.png"):
        Pictures().extract(dataset, dataset.items, {})
