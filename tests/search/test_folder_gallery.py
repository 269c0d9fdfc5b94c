import io
import os

import numpy as np
import pytest
import soundfile
from PIL import Image

from crossmodal.errors import CrossmodalError
from crossmodal.search.folder_gallery import FolderGallery


def picture():
    stream = io.BytesIO()
    Image.new("RGB", (4, 3), "red").save(stream, "PNG")
    return stream.getvalue()


def clip():
    stream = io.BytesIO()
    soundfile.write(stream, np.full(400, 0.1), 16_000, format="WAV")
    return stream.getvalue()


@pytest.fixture
def holiday(tmp_path):
    """A folder of files of all modalities, some of them hidden."""
    files = {
        "b.JPG": picture(),
        "days/1/a.png": picture(),
        ".hidden/c.png": "",
        "days/._a.png": "",
        "notes.txt": "\ufeffa red ball\r\n\n  the sea \n",
        "days/more.txt": "snow\n",
        "clip.wav": clip(),
        "table.csv": "",
    }
    for name, content in files.items():
        path = tmp_path / "holiday" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "holiday/folder.png").mkdir()
    return tmp_path / "holiday"


class Model:
    """Returns what it is asked to embed."""

    def embed(self, label, **items):
        return items

    def wordless(self, texts):
        return [row for row, text in enumerate(texts) if "zebra" in text]


@pytest.mark.parametrize(
    ("modality", "ids", "argument", "entries"),
    [
        ("image", ["b.JPG", "days/1/a.png"], "images", ["b.JPG", "days/1/a.png"]),
        ("speech", ["clip.wav"], "speech", ["clip.wav"]),
        (
            "text",
            ["days/more.txt:1", "notes.txt:1", "notes.txt:3"],
            "texts",
            ["snow", "a red ball", "the sea"],
        ),
    ],
)
def test_a_folder_gives_its_files_or_lines(holiday, modality, ids, argument, entries):
    gallery = FolderGallery(holiday, modality)
    found, embedded = gallery.embed(Model())
    assert found == ids
    expected = entries if modality == "text" else [holiday / entry for entry in entries]
    assert embedded == {argument: expected}
    assert gallery.text(ids[-1]) == (entries[-1] if modality == "text" else "")
    assert gallery.labels(ids[0]) == ()


def test_lines_without_a_known_word_are_left_out(holiday):
    (holiday / "notes.txt").write_text("a red ball\na zebra\nthe sea\n")
    with pytest.warns(UserWarning, match=r"knows no word of them: notes.txt:2$"):
        found, embedded = FolderGallery(holiday, "text").embed(Model())
    assert found == ["days/more.txt:1", "notes.txt:1", "notes.txt:3"]
    assert embedded == {"texts": ["snow", "a red ball", "the sea"]}
    for name in ("notes.txt", "days/more.txt"):
        (holiday / name).write_text("zebra\n")
    with pytest.raises(CrossmodalError, match="knows no word of its 2 lines"):
        FolderGallery(holiday, "text").embed(Model())


@pytest.mark.parametrize(
    ("modality", "suffix", "kept"),
    [
        ("image", ".png", ["b.JPG", "days/1/a.png"]),
        ("speech", ".wav", ["clip.wav"]),
        ("text", ".txt", ["days/more.txt:1", "notes.txt:1", "notes.txt:3"]),
    ],
)
def test_broken_files_are_left_out_and_named(holiday, modality, suffix, kept):
    for name in ("days/cut", "z"):
        (holiday / f"{name}{suffix}").write_bytes(b"\xff\xd8\xff\xe0 half a file")
    broken = rf"2 of \d files cannot be read as {modality}: days/cut{suffix}, z{suffix}; they are"
    with pytest.warns(UserWarning, match=broken):
        found, _ = FolderGallery(holiday, modality).embed(Model())
    assert found == kept


def test_of_many_broken_files_some_are_named(holiday):
    for number in range(30):
        (holiday / f"{number:02}.png").touch()
    with pytest.warns(UserWarning, match=r"30 of 32 files .* 19\.png, and 10 more; they are"):
        FolderGallery(holiday, "image").embed(Model())
    for path in ("b.JPG", "days/1/a.png"):
        (holiday / path).write_bytes(b"")
    with pytest.raises(CrossmodalError, match=r"32 of 32 files .* and 12 more; replace them"):
        FolderGallery(holiday, "image").embed(Model())


def test_what_cannot_be_opened_is_named(holiday, monkeypatch):
    (holiday / "lost.png").symlink_to("nowhere.png")
    (holiday / "lost.txt").symlink_to("nowhere.txt")
    strange = os.fsencode(holiday) + b"/\xff.png"
    with open(strange, "wb") as stream:
        stream.write(picture())
    (holiday / "closed").mkdir()
    opened = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: opened(path if path.name != "closed" else "no"))
    broken = r"3 of 5 files cannot be read as image: \\udcff\.png, closed, lost\.png; they are"
    with pytest.warns(UserWarning, match=broken):
        found, _ = FolderGallery(holiday, "image").embed(Model())
    assert found == ["b.JPG", "days/1/a.png"]


def test_a_file_that_is_gone_is_no_query(holiday):
    gallery = FolderGallery(holiday, "image")
    (holiday / "b.JPG").unlink()
    with pytest.raises(CrossmodalError, match=r"has no image 'b\.JPG'; name an item"):
        gallery.embed_item(Model(), "b.JPG")


def test_media_are_the_files(holiday):
    assert FolderGallery(holiday, "image").media("days/1/a.png") == picture()
    assert FolderGallery(holiday, "text").media("notes.txt:1") == b""


def test_an_id_that_is_no_item_is_not_read(holiday):
    (holiday.parent / "secret.png").write_text("secret")
    for id in ("../secret.png", str(holiday.parent / "secret.png"), ".hidden/c.png"):
        with pytest.raises(KeyError):
            FolderGallery(holiday, "image").media(id)


@pytest.mark.parametrize("modality", ["image", "text", "speech"])
def test_an_unknown_item_is_no_query(holiday, modality):
    with pytest.raises(CrossmodalError, match=f"holiday: has no {modality} 'nope'; name an item"):
        FolderGallery(holiday, modality).embed_item(Model(), "nope")


def test_the_stamp_changes_with_the_files_alone(holiday):
    before = FolderGallery(holiday, "image").stamp()
    (holiday / "table.csv").write_text("other")
    assert FolderGallery(holiday, "image").stamp() == before
    os.utime(holiday / "b.JPG", (0, 0))
    changed = FolderGallery(holiday, "image").stamp()
    assert changed != before
    (holiday / "c.png").write_text("")
    assert FolderGallery(holiday, "image").stamp() != changed


def test_folders_without_items_are_refused(holiday, tmp_path):
    with pytest.raises(CrossmodalError, match="no folder"):
        FolderGallery(tmp_path / "missing", "image")
    with pytest.raises(CrossmodalError, match=r"no speech is here; looked for \.aif"):
        FolderGallery(holiday / "days", "speech")
    (holiday / "days/more.txt").write_text("\n \n")
    with pytest.raises(CrossmodalError, match="blank"):
        FolderGallery(holiday / "days", "text").embed(Model())
    (holiday / "days/more.txt").write_bytes(b"\xff")
    with pytest.raises(CrossmodalError, match=r"1 of 1 files cannot be read as text: more\.txt"):
        FolderGallery(holiday / "days", "text").embed(Model())


def test_a_linked_folder_is_searched(holiday, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/far.PNG").touch()
    (holiday / "linked").symlink_to(tmp_path / "elsewhere")
    assert FolderGallery(holiday, "image").media("linked/far.PNG") == b""
