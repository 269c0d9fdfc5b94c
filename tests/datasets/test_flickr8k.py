import io
import os
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.word_times import MEMBER, from_bytes
from crossmodal.datasets import flickr8k
from crossmodal.datasets.flickr8k import Flickr8k
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec

SPLITS = {"train": 3, "validation": 1, "test": 2}
LISTS = {"train": "trainImages", "validation": "devImages", "test": "testImages"}
FILES = [f"{1000 + n}_ab{n}.jpg" for n in range(sum(SPLITS.values()))]
UNLISTED, BOGUS = "2999_zz.jpg", "2258277193_586949ec62.jpg.1"
CAPTIONS = {
    f"{file}#{number}": f'Caption {number} of {file} , with a "quote" .'
    for file in [*FILES, UNLISTED, BOGUS]
    for number in range(5)
}


def split_of(file):
    bounds = [split for split, count in SPLITS.items() for _ in range(count)]
    return bounds[FILES.index(file)]


def image_of(file):
    return b"\xff\xd8\xff" + file.encode()


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """The two archives in small, in the official layout, with the quirks of the official ones."""
    monkeypatch.setattr(flickr8k, "COUNTS", SPLITS)
    (tmp_path / "raw").mkdir()
    write_texts(tmp_path / "raw")
    write_images(tmp_path / "raw")
    return tmp_path / "raw"


def write_texts(raw, captions=CAPTIONS, leave_out="", extra_line="", **lists):
    tokens = "".join(f"{name}\t{text}\n" for name, text in captions.items()) + extra_line
    members = {"Flickr8k.token.txt": tokens, "readme.txt": "", "CrowdFlowerAnnotations.txt": "\t"}
    for split, name in LISTS.items():
        files = lists.get(split, [file for file in FILES if split_of(file) == split])
        members[f"Flickr_8k.{name}.txt"] = "".join(f"{file}\n" for file in files)
    with zipfile.ZipFile(raw / "Flickr8k_text.zip", "w") as archive:
        for name, text in members.items():
            archive.writestr(f"__MACOSX/._{name}", b"\x00\x05")
            if name != leave_out:
                archive.writestr(name, text)


def write_images(raw, files=(*FILES, UNLISTED)):
    with zipfile.ZipFile(raw / "Flickr8k_Dataset.zip", "w") as archive:
        archive.mkdir("Flicker8k_Dataset")
        for file in reversed(files):
            archive.writestr(f"Flicker8k_Dataset/{file}", image_of(file))
            archive.writestr(f"__MACOSX/Flicker8k_Dataset/{file}", b"\x00\x05")
            archive.writestr(f"__MACOSX/Flicker8k_Dataset/._{file}", b"\x00\x05")


def run(raw, tmp_path, speech="none", classes=False, word_times=False):
    options = {"speech": speech, "classes": classes, "word_times": word_times}
    prepare(PrepareSpec(plugin="flickr8k", options=options), raw, tmp_path / "prepared")
    return Prepared(tmp_path / "prepared")


def test_the_listed_images_are_items_in_their_official_split(raw, tmp_path):
    dataset = run(raw, tmp_path)
    assert dataset.splits == {Path(file).stem: split_of(file) for file in FILES}
    assert {(item.category, item.labels) for item in dataset.items} == {("", ())}


def test_every_image_has_its_bytes(raw, tmp_path):
    dataset = run(raw, tmp_path)
    for item in dataset.items:
        assert item.image == f"images/{item.id}.jpg"
        assert dataset.read(item.image) == image_of(f"{item.id}.jpg")


def test_every_image_has_its_five_captions_in_order(raw, tmp_path):
    captions = run(raw, tmp_path).captions
    expected = [
        (f"{Path(file).stem}#{number}", Path(file).stem, CAPTIONS[f"{file}#{number}"])
        for file in FILES
        for number in range(5)
    ]
    assert [(c.id, c.item, c.text) for c in captions] == expected


def test_captions_may_come_in_any_order(raw, tmp_path):
    expected = run(raw, tmp_path).captions
    write_texts(raw, dict(reversed(CAPTIONS.items())))
    assert run(raw, tmp_path).captions == expected


def test_a_missing_image_is_named(raw, tmp_path, failure):
    write_images(raw, [file for file in FILES if file != FILES[3]])
    found = failure(run, raw, tmp_path)
    for fragment in (repr(FILES[3]), "'validation'", "is not in Flickr8k_Dataset.zip"):
        assert fragment in found


def test_a_missing_caption_is_named(raw, tmp_path, failure):
    write_texts(raw, {k: v for k, v in CAPTIONS.items() if k != f"{FILES[4]}#2"})
    found = failure(run, raw, tmp_path)
    for fragment in (repr(FILES[4]), "'test'", "4 captions in Flickr8k_text.zip"):
        assert fragment in found


def test_an_image_in_two_splits_is_named(raw, tmp_path, failure):
    write_texts(raw, test=[FILES[0], FILES[5]])
    assert repr(Path(FILES[0]).stem) in failure(run, raw, tmp_path)


def test_a_truncated_list_is_refused(raw, tmp_path, failure):
    write_texts(raw, train=FILES[:2])
    assert "2 items in split 'train', but the dataset declares 3" in failure(run, raw, tmp_path)


@pytest.mark.parametrize(
    "line",
    ["a.jpg#0 no tab\n", "a.jpg\tno number\n", "a.jpg#x\tno number\n", "a.jpg#0\t \n", "#0 a.jpg"],
)
def test_a_wrong_line_is_named_with_file_and_number(raw, tmp_path, line, failure):
    write_texts(raw, extra_line=line)
    found = failure(run, raw, tmp_path)
    for fragment in ("Flickr8k.token.txt", f"line {len(CAPTIONS) + 1}", repr(line.rstrip("\n"))):
        assert fragment in found


@pytest.mark.parametrize("name", ["Flickr8k.token.txt", "Flickr_8k.devImages.txt"])
def test_a_text_file_that_is_not_there_is_named(raw, tmp_path, name, failure):
    write_texts(raw, leave_out=name)
    found = failure(run, raw, tmp_path)
    assert f"Flickr8k_text.zip: {name}: the archive holds 0 such files" in found


@pytest.mark.parametrize("name", ["Flickr8k_text.zip", "Flickr8k_Dataset.zip"])
@pytest.mark.parametrize("damage", ["missing", "cut", "page"])
def test_a_missing_or_corrupt_archive_is_named(raw, tmp_path, name, damage, failure):
    path = raw / name
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(content[:-40] if damage == "cut" else b"<html>no such page</html>")
    assert str(path) in failure(run, raw, tmp_path)


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("Flickr8k_Dataset.zip", image_of(FILES[2])),
        ("Flickr8k_text.zip", FILES[3].encode() + b"\n"),
    ],
    ids=["image", "list"],
)
def test_a_corrupt_member_is_named(raw, tmp_path, name, member, failure):
    path = raw / name
    damaged = path.read_bytes().replace(member, member[:-1] + b"?")
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    assert str(path) in failure(run, raw, tmp_path)


def test_text_that_is_not_utf8_is_named(raw, tmp_path, failure):
    path = raw / "Flickr8k_text.zip"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["Flickr8k.token.txt"] += b"a.jpg#0\t\xff\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(stream.getvalue())
    found = failure(run, raw, tmp_path)
    assert "Flickr8k_text.zip" in found
    assert "Flickr8k.token.txt" in found


@pytest.mark.real
def test_the_real_dataset_has_the_official_sizes(tmp_path):
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "flickr8k"
    if not raw.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no flickr8k")
    dataset = run(raw, tmp_path)
    sizes = [len(dataset.split(split)) for split in ("train", "validation", "test")]
    assert sizes == [6000, 1000, 1000]
    assert len(dataset.captions) == 40_000
    assert all(caption.text for caption in dataset.captions)
    assert all(dataset.read(item.image)[:2] == b"\xff\xd8" for item in dataset.items[::100])


@pytest.fixture
def spoken(small):
    return small("flickr8k")


def recordings(raw):
    with tarfile.open(raw / "flickr_audio.tar.gz") as archive:
        return {Path(m.name).name: archive.extractfile(m).read() for m in archive.getmembers()}


def caption_files(raw):
    """Image file and number of each listed caption."""
    lines = recordings(raw)["wav2capt.txt"].decode().splitlines()
    return ["".join(line.split()[1:]) for line in lines]


def test_recorded_captions_have_their_recordings(spoken):
    silent, dataset = spoken.prepare(speech="none"), spoken.prepare(speech="recorded")
    assert dataset.items == silent.items
    assert {c.id: c.text for c in dataset.captions} == {c.id: c.text for c in silent.captions}
    wavs = recordings(spoken.raw)
    for caption in dataset.captions:
        assert caption.audio == f"speech/{caption.id}.wav"
        assert dataset.read(caption.audio) == wavs[f"{caption.id.replace('#', '_')}.wav"]


def test_captions_without_recording_are_left_out_and_named(spoken, capsys):
    names = caption_files(spoken.raw)
    spoken.layout.write_recordings(spoken.raw, names, np.random.default_rng(0), lost=names[3:5])
    left_out = {name.replace(".jpg", "") for name in names[3:5]}
    expected = {caption.id for caption in spoken.prepare(speech="none").captions} - left_out
    assert {caption.id for caption in spoken.prepare(speech="recorded").captions} == expected
    told = capsys.readouterr().err
    assert all(id in told for id in left_out)


def test_an_image_without_any_recording_is_named(spoken, failure):
    names = caption_files(spoken.raw)
    spoken.layout.write_recordings(spoken.raw, names, np.random.default_rng(0), lost=names[5:10])
    message = failure(lambda: spoken.prepare(speech="recorded"))
    assert "flickr_audio.tar.gz: 1 images have no recording" in message
    assert repr(Path(names[5]).stem) in message


@pytest.mark.parametrize("line", ["a.wav a.jpg 0", "a.wav a.jpg", "a.mp3 a.jpg #0", "a.wav a #x"])
def test_a_wrong_line_of_the_recordings_is_named(spoken, failure, line):
    with tarfile.open(spoken.raw / "flickr_audio.tar.gz", "w:gz") as archive:
        content = f"b.wav b.jpg #0\n{line}\n".encode()
        info = tarfile.TarInfo("flickr_audio/wav2capt.txt")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    found = failure(lambda: spoken.prepare(speech="recorded"))
    assert f"wav2capt.txt: line 2: {line!r}" in found


def test_synthetic_speech_is_worker_invariant(raw, tmp_path, monkeypatch):
    pytest.importorskip("espeakng_loader")
    monkeypatch.setattr(flickr8k, "BATCH", 20)
    contents = []
    for workers in (1, 2):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=workers: set(range(n)))
        dataset = run(raw, tmp_path, "synthetic")
        contents.append([dataset.read(caption.audio) for caption in dataset.captions])
    assert contents[0] == contents[1]
    assert len(set(contents[0])) == len(dataset.captions) == 5 * len(dataset.items)
    for caption, content in zip(dataset.captions[::9], contents[0][::9], strict=True):
        samples, rate = soundfile.read(io.BytesIO(content))
        assert rate == 16_000
        assert len(samples) / rate > 0.02 * len(caption.text)  # seconds per letter


def test_times_of_synthetic_words_are_kept_where_asked(raw, tmp_path):
    pytest.importorskip("espeakng_loader")
    times = from_bytes(run(raw, tmp_path, "synthetic", word_times=True).read(MEMBER))
    dataset = run(raw, tmp_path, "synthetic")
    assert times.keys() == {caption.id for caption in dataset.captions}
    with pytest.raises(CrossmodalError, match=MEMBER):
        dataset.read(MEMBER)


@pytest.mark.parametrize("speech", ["none", "recorded", "synthetic"])
def test_recordings_are_needed_only_where_they_are_asked_for(speech):
    options = {"speech": speech, "classes": False}
    dataset = plugins.make("datasets", "flickr8k", options, "datasets.flickr8k")
    files = {source.file for source in dataset.sources}
    assert ("flickr_audio.tar.gz" in files) == (speech == "recorded")
    assert files <= {source.file for source in Flickr8k.sources}


@pytest.mark.real
def test_the_synthesiser_speaks_real_captions():
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "flickr8k"
    if not raw.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no flickr8k")
    pytest.importorskip("espeakng_loader")
    with Archive(raw / "Flickr8k_text.zip") as texts:
        captions = flickr8k._read_captions(texts.text("Flickr8k.token.txt"))
    texts = sorted((text for numbered in captions.values() for text in numbered.values()), key=len)
    for text in [*texts[:20], *texts[-2:]]:
        ((_, content, _),) = flickr8k._speak([(0, ("a#0", text))])
        samples, rate = soundfile.read(io.BytesIO(content))
        assert np.isfinite(samples).all()
        assert len(samples) > 0.1 * rate
