"""Thousands of corrupt files: each is read, or refused with a message; nothing hangs or strays."""

import io
import os
import random
import signal
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io
import soundfile
from PIL import Image

from crossmodal.config import plugins
from crossmodal.data.feature_file import Ragged, write_features
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import FILES, SPLITS, Prepared
from crossmodal.data.split import Split, View
from crossmodal.data.writer import Writer
from crossmodal.datasets import wikipedia
from crossmodal.datasets.flickr8k import Flickr8k
from crossmodal.errors import CrossmodalError
from crossmodal.images.crops import Preparation
from crossmodal.io.archives import Archive
from crossmodal.io.sound_files import read_speech
from crossmodal.learning.method import Run
from crossmodal.models.model_folder import read_model, write_model
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec

CASES = int(os.environ.get("CROSSMODAL_FUZZ_CASES", "130"))  # of each kind of file
SECONDS = 10  # of processor time, after which a case counts as hanging
VALUES = [b"\0", b"\xff", b"\x7f", b"../", b"/", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f"]
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
PARTS = {"tr": 3, "te": 2}
MODEL = ("model.json", "model.safetensors")
IMAGES = [f"{number}.jpg" for number in range(len(SPLITS))]

rng = np.random.default_rng(0)


def image(kind):
    stream = io.BytesIO()
    Image.fromarray(rng.integers(256, size=(20, 30, 3), dtype=np.uint8)).save(stream, kind)
    return stream.getvalue()


def clip(kind):
    stream = io.BytesIO()
    soundfile.write(stream, rng.normal(0, 0.1, (800, 2)), 16_000, format=kind)
    return stream.getvalue()


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(members, mode):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def matrices(compressed):
    stream = io.BytesIO()
    shapes = {f"I_{p}": (n, 128) for p, n in PARTS.items()}
    shapes |= {f"T_{p}": (n, 10) for p, n in PARTS.items()}
    arrays = {name: rng.random(shape) for name, shape in shapes.items()}
    scipy.io.savemat(stream, arrays, do_compression=compressed)
    return stream.getvalue()


MEMBERS = {
    "set/a.txt": b"some text, and some more text\n" * 9,
    "set/" + "long" * 40: b"",
    "set/été.bin": rng.bytes(300),
}
TOKENS = "".join(f"{name}#{number}\ta dog runs\n" for name in IMAGES for number in range(5))
LISTS = {"train": IMAGES[:1], "dev": IMAGES[1:2], "test": IMAGES[2:]}
FLICKR8K = {
    "Flickr8k_text.zip": zipped(
        {"Flickr8k.token.txt": TOKENS}
        | {f"Flickr_8k.{part}Images.txt": "\n".join(names) for part, names in LISTS.items()}
    ),
    "Flickr8k_Dataset.zip": zipped({f"Images/{name}": image("JPEG") for name in IMAGES}),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Files that crossmodal itself writes, by name."""
    folder = tmp_path_factory.mktemp("written")
    with Writer(folder) as out:
        for number, split in enumerate(SPLITS):
            out.item(f"item {number}", split, "dog", ("dog", "ball"), b"image", ".jpg")
            out.caption(f"{number}#0", f"item {number}", 'A "dog",\nruns', b"audio", ".wav")
        out.published("lda", np.ones((3, 2)))
    sequences = Ragged.concatenate([np.ones((length, 2)) for length in (3, 0, 5)])
    for name, chunk in (("dense.h5", rng.random((3, 4))), ("ragged.h5", sequences)):
        write_features(folder / name, ["a", "b", "c"], ["x", "x", "y"], [chunk], {"size": 3})
    write_cca(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_cca(folder):
    """A model folder of images and words."""
    items, ids = np.arange(9), [str(row) for row in range(9)]
    meta = {"vocabulary": ["a", "b"], "mean": [0.5, 1.5]}
    views = {m: View(rng.random((9, 3)), items, ids, meta) for m in ("image", "text")}
    split = Split(ids, np.zeros((9, 1), bool), views, ("dog",))
    options = {"dims": 2, "ridge": 0.1, "power": 1.0}
    method = plugins.make("methods", "cca", options, "options")
    method.fit(split, split, Run(seed=0))
    write_model(folder, method, {"plugin": "cca", "options": options}, split)


def read_archive(path, whole):
    with Archive(path) as archive:
        for member in archive.names:
            archive.read(member)
        archive.text("a.txt")
        assert [name for name, _ in archive.walk(set(archive.names))] == archive.names


def read_flickr8k(path, whole):
    for name in FLICKR8K.keys() - {path.name}:
        path.with_name(name).write_bytes(FLICKR8K[name])
    output = path.with_name("prepared")
    before = sorted(output.glob("*"))
    try:
        options = {"speech": "none", "classes": False}
        prepare(PrepareSpec(plugin="flickr8k", options=options), path.parent, output)
    except CrossmodalError:
        assert sorted(output.glob("*")) == before
        raise
    assert sorted(file.name for file in output.iterdir()) == sorted(FILES)


def read_prepared(path, whole):
    for name in {*FILES} - {path.name}:
        path.with_name(name).write_bytes(whole[name])
    dataset = Prepared(path.parent)
    dataset.published("lda")
    for item in dataset.split(*SPLITS):
        dataset.read(item.image)
    for caption in dataset.captions:
        dataset.read(caption.audio)


def read_folder(path, whole):
    for name in {*MODEL} - {path.name}:
        path.with_name(name).write_bytes(whole[name])
    read_model(path.parent)


def read_h5(path, whole):
    for items in (None, {"x"}):
        read_features(path, items)


KINDS = {
    "set.zip": (zipped(MEMBERS), read_archive),
    "set.tar": (tarred(MEMBERS, "w"), read_archive),
    "set.tar.gz": (tarred(MEMBERS, "w:gz"), read_archive),
    **{name: (content, read_flickr8k) for name, content in FLICKR8K.items()},
    **{
        f"image.{kind.lower()}": (
            image(kind),
            lambda path, whole: Preparation().square(path.read_bytes(), path.name, "short"),
        )
        for kind in ("JPEG", "PNG", "GIF", "TIFF", "WEBP")
    },
    **{
        f"clip.{kind.lower()}": (
            clip(kind),
            lambda path, whole: read_speech(path.read_bytes(), path.name),
        )
        for kind in ("WAV", "FLAC", "OGG")
    },
    **dict.fromkeys(FILES, (None, read_prepared)),
    **dict.fromkeys(MODEL, (None, read_folder)),
    **dict.fromkeys(("dense.h5", "ragged.h5"), (None, read_h5)),
    "plain.mat": (
        matrices(False),
        lambda path, whole: wikipedia._read_features(path, wikipedia.CLASSIC),
    ),
    "compressed.mat": (
        matrices(True),
        lambda path, whole: wikipedia._read_features(path, wikipedia.CLASSIC),
    ),
}


def mutate(content, draw):
    """Content with one to eight random changes."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4, 8])):
        at = draw.randrange(len(changed) + 1)
        end = at + draw.choice([1, 2, 4, 16, len(changed) // 4])
        change = draw.choice(["flip", "value", "value", "noise", "cut", "drop", "repeat"])
        if change == "flip":
            changed[at : at + 1] = bytes(byte ^ 1 << draw.randrange(8) for byte in changed[at:][:1])
        elif change == "value":
            value = draw.choice(VALUES)
            changed[at : at + len(value)] = value
        elif change == "noise":
            changed[at:end] = draw.randbytes(end - at)
        elif change == "repeat":
            changed[at:at] = changed[at:end]
        else:
            del changed[at : end if change == "drop" else None]
    return bytes(changed)


class HangError(BaseException):
    """No loader catches it."""


def _hang(*_):
    raise HangError


WATCH = SimpleNamespace(folder=None, strayed=[])


def _watch(event, arguments):
    """Note what is written outside of the folder that is watched."""
    if WATCH.folder and event == "open":
        path, _, flags = arguments
        inside = isinstance(path, int) or Path(os.fsdecode(path)).is_relative_to(WATCH.folder)
        if flags & WRITING and not inside:
            WATCH.strayed.append(path)


sys.addaudithook(_watch)


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A folder, outside of which nothing may be written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Flickr8k, "counts", lambda self: dict.fromkeys(SPLITS, 1))
    monkeypatch.setattr(wikipedia, "COUNTS", {"train": PARTS["tr"], "test": PARTS["te"]})
    monkeypatch.setattr(WATCH, "folder", tmp_path / "target")
    (tmp_path / "target").mkdir()
    before = signal.signal(signal.SIGPROF, _hang)
    yield tmp_path / "target"
    signal.signal(signal.SIGPROF, before)
    WATCH.folder = None
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert WATCH.strayed == []


def outcome(path, read, written):
    """'' if a file is read, the message if it is refused."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read(path, written)
    except CrossmodalError as error:
        return str(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_corrupt_files_are_read_or_refused(name, written, watched):
    content, read = KINDS[name]
    content = written[name] if content is None else content
    path = watched / name
    path.write_bytes(content)
    assert outcome(path, read, written) == ""
    messages = []
    for case in range(CASES):
        path.write_bytes(mutate(content, random.Random(f"{name} {case}")))
        messages.append(outcome(path, read, written))
    assert any(messages)
    assert [m for m in messages if m and name not in m and str(watched) not in m] == []


def test_there_are_enough_cases():
    assert CASES * len(KINDS) >= 2000
