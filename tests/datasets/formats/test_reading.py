import io
import json
import sys
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from crossmodal.commands.init import init
from crossmodal.datasets._formats.reading import read_source
from tests.datasets.formats.samples import (
    COUNT,
    EVERY,
    SPLITS,
    TEXTS,
    coco,
    content,
    json_lines,
    lines,
    photos,
    prepared,
    refused,
    sample,
    tar,
)
from tests.project_params import PATH

SPLIT = {"train": "train", "val": "validation", "test": "test"}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", EVERY)
def test_each_format_gives_the_same_items(name, capsys):
    EVERY[name](Path("own"))
    dataset = prepared("own")
    by_content = {dataset.read(item.image): item for item in dataset.items}
    assert {*by_content} == {content(n) for n in range(COUNT)}
    for n, split in enumerate(SPLITS):
        item = by_content[content(n)]
        assert [caption.text for caption in dataset.captions_of[item.id]] == TEXTS[n]
        assert dataset.splits[item.id] == SPLIT[split]
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("read "))
    counts = "12 items, with image and text, 24 captions, splits 8 train, 2 validation, 2 test"
    assert line.endswith(counts)


@pytest.mark.parametrize(
    ("name", "file"), [("hugging_face_csv", "metadata.csv"), ("karpathy", "dataset_own.json")]
)
def test_names_of_formats_may_be_in_capitals(name, file):
    EVERY[name](Path("own"))
    path = Path("own", file)
    path.rename(path.with_name(file.upper()))
    assert len(read_source(Path("own")).rows) == 2 * COUNT


def whole(count=COUNT):
    return [member for n in range(count) for member in sample(n)]


DAMAGE = {
    "its name leads out of its folder": [("../x.png", content(20)), ("../x.txt", b"a cat")],
    "has no text": [("x.png", content(20))],
    "has no image": [("x.txt", b"a cat")],
    "'x.txt' is not UTF-8": [("x.png", content(20)), ("x.txt", b"\xff\xfe\xfd")],
    "is no JSON": [("x.png", content(20)), ("x.json", b"{")],
    "is no caption, but float": [("x.png", content(20)), ("x.json", b'{"caption": 3.5}')],
    "are not beside each other": [("0000.json", b"{}")],
}


@pytest.mark.parametrize("reason", DAMAGE)
def test_a_malformed_sample_is_refused_or_left_out(reason):
    tar(Path("own/0.tar"), [*whole(), *DAMAGE[reason]])
    told = refused("own")
    assert reason in told
    assert "--skip-bad leaves them out" in told
    with pytest.warns(UserWarning, match="left out, since they are malformed"):
        dataset = prepared("own", skip_bad=True)
    assert len(dataset.items) == COUNT
    count = len(told.splitlines()) - 1
    assert dataset.remarks == [f"lacks {count} malformed records"]


def test_links_in_a_shard_are_not_followed():
    tar(Path("own/0.tar"), whole())
    with tarfile.open("own/1.tar", "w") as archive:
        link = tarfile.TarInfo("x.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    assert "own/1.tar: 'x.png': is a link, a device or sparse, no plain file" in refused("own")


def test_a_shard_that_ends_early_loses_its_rest_alone():
    tar(Path("own/0.tar"), whole())
    whole_shard = Path("own/0.tar").read_bytes()
    tar(Path("own/1.tar"), [m for n in range(20, 24) for m in sample(n % COUNT, f"{n:04}")])
    cut = Path("own/1.tar").read_bytes()
    Path("own/1.tar").write_bytes(cut[: len(cut) // 4])
    assert "own/1.tar: row " in refused("own")
    source = read_source(Path("own"))
    assert COUNT < len({row["id"] for row in source.rows}) < COUNT + 4
    Path("own/2.tar.gz").write_bytes(b"\x1f\x8b" + whole_shard[:100])
    assert "own/2.tar.gz: row 1: own/2.tar.gz: is no whole tar file" in refused("own")


def test_at_most_fifty_malformed_records_are_named():
    tar(Path("own/0.tar"), [*whole(), *((f"x{n}.txt", b"a") for n in range(COUNT - 1))])
    lines(Path("many.jsonl"), [{"image": "a.png", "caption": 3.5}] * 60)
    told = refused("many.jsonl").splitlines()
    assert len(told) == 52
    assert told[50] == "and 10 more"


def test_equal_keys_of_two_shards_are_two_items():
    tar(Path("own/a.tar"), whole())
    tar(Path("own/b.tar"), [m for n in range(2) for m in sample(n + 2, f"{n:04}")])
    ids = {row["id"] for row in read_source(Path("own")).rows}
    assert len(ids) == COUNT + 2
    assert {"0000", "b/0000"} <= ids


def test_identical_captions_of_an_item_are_kept_once_and_counted():
    tar(Path("own/0.tar"), [*whole(), ("x.png", content(20)), ("x.txt", b"a cat\na cat")])
    dataset = prepared("own")
    assert [caption.text for caption in dataset.captions_of["x"]] == ["a cat"]
    assert "has 1 captions that an item has twice, which count once" in dataset.remarks


def test_speech_in_shards_is_read(capsys):
    def wav(n):
        stream = io.BytesIO()
        soundfile.write(stream, np.random.default_rng(n).normal(size=50) / 9, 16_000, format="WAV")
        return stream.getvalue()

    members = [m for n in range(COUNT) for m in (*sample(n), (f"{n:04}.wav", wav(n)))]
    tar(Path("own/0.tar"), members)
    dataset = prepared("own")
    assert [dataset.read(dataset.captions_of["0003"][0].audio)] == [wav(3)]
    assert "12 items, with image and text and speech, 24 captions" in capsys.readouterr().out


def test_a_hugging_face_audio_folder_is_read(capsys):
    Path("own").mkdir()
    for n in range(COUNT):
        soundfile.write(f"own/{n}.wav", np.random.default_rng(n).normal(size=50) / 9, 16_000)
    rows = "".join(f'{n}.wav,"it says, {n}",{n % 2}\n' for n in range(COUNT))
    Path("own/metadata.csv").write_text("file_name,transcription,label\n" + rows)
    dataset = prepared("own")
    assert dataset.captions_of["3"][0].text == "it says, 3"
    assert "12 items, with text and speech, 12 captions, 2 labels" in capsys.readouterr().out


@pytest.mark.parametrize("as_tar", [True, False])
def test_what_img2dataset_writes_is_read(as_tar, capsys):
    described = json.dumps({"caption": "a dog", "url": "u", "key": "k", "width": 3}).encode()
    members = [m for n in range(COUNT) for m in (*sample(n), (f"{n:04}.json", described))]
    if as_tar:
        tar(Path("own/00000.tar"), members)
    else:
        Path("own/00000").mkdir(parents=True)
        for name, data in members:
            Path("own/00000", name).write_bytes(data)
    stats = {"count": 20, "successes": COUNT, "failed_to_download": 8}
    Path("own/00000_stats.json").write_text(json.dumps(stats))
    dataset = prepared("own")
    assert {item.id for item in dataset.items} == {f"{n:04}" for n in range(COUNT)}
    assert [c.text for c in dataset.captions_of["0002"]] == TEXTS[2]
    assert "img2dataset failed on 8 of 20 downloads" in capsys.readouterr().out


def test_captions_of_coco_may_be_given_as_the_file_alone(capsys):
    coco(Path("own"))
    dataset = prepared("own/annotations/captions_train2014.json")
    assert len(dataset.items) == SPLITS.count("train")
    assert "all items are of split train: splits are drawn" in capsys.readouterr().out
    assert {*dataset.splits.values()} == {*SPLIT.values()}


def test_a_picture_that_coco_names_and_nobody_has_is_told():
    coco(Path("own"))
    Path("own/train2014/3.png").unlink()
    assert "row 4: no file of the name '3.png'" in refused("own")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.png", "..\\x.png"])
def test_a_table_names_no_files_outside_of_its_folder(name):
    json_lines(Path("own"))
    with Path("own/all.jsonl").open("a") as stream:
        stream.write(json.dumps({"image": name, "caption": "a", "split": "train"}) + "\n")
    assert "row 25: " in refused("own")
    assert "lies outside of own" in refused("own")


def test_malformed_lines_and_unknown_splits_are_named():
    json_lines(Path("own"))
    with Path("own/all.jsonl").open("a") as stream:
        stream.write('{"image": \n[1]\n{"image": "p/1.png", "caption": "a", "split": "x"}\n')
    told = refused("own").splitlines()
    parts = ["row 25: is no JSON", "row 26: is no object, but list", "row 27: 'x' is no split"]
    assert [part in line for part, line in zip(parts, told, strict=False)] == [True] * 3


@pytest.mark.parametrize("name", ["parquet_of_bytes", "excel"])
def test_a_library_that_is_absent_is_named_with_its_extra(name, monkeypatch):
    EVERY[name](Path("own"))
    (path,) = [p for p in sorted(Path("own").iterdir()) if p.is_file()][-1:]
    for module in ("pyarrow", "pyarrow.parquet", "openpyxl"):
        monkeypatch.setitem(sys.modules, module, None)
    assert 'pip install "crossmodal-retrieval[formats]"' in refused(path)


def test_a_folder_of_pictures_with_other_tables_stays_one(capsys):
    photos(Path("own"), [f"dog {n}.png" for n in range(COUNT)])
    lines(Path("own/log.jsonl"), [{"time": 3}])
    Path("own/dataset_x.json").write_text("{")
    init(Path("own"), "mine", False, PATH)
    assert "csv: " in Path("mine.yaml").read_text()
    assert "left out:\n  1 .json, not read" in capsys.readouterr().out


def test_reading_shards_does_not_hold_their_pictures():
    members = [
        member
        for n in range(400)
        for member in ((f"{n:04}.png", bytes(40_000)), (f"{n:04}.txt", b"a dog"))
    ]
    tar(Path("own/0.tar"), members)
    read_source(Path("own"))  # what is imported once does not count
    peaks = []
    for _ in range(3):  # a thread of another test may need memory beside one of them
        tracemalloc.start()
        assert len(read_source(Path("own")).rows) == 400
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert min(peaks) < 400 * 40_000 / 4
