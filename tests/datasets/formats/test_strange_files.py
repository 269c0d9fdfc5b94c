"""Files as strangers have them: read, or refused with file, row and what to do."""

import json
from pathlib import Path

import openpyxl
import pytest

from crossmodal.datasets._formats.reading import read_source
from tests.datasets.formats.samples import (
    COUNT,
    content,
    lines,
    parquet,
    photos,
    prepared,
    refused,
    sample,
    tar,
)

NAMES = [f"p/{n}.png" for n in range(COUNT)]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def excel(path, rows):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize("path", ["", None, "same.png"])
def test_bytes_of_parquet_are_items_whatever_their_paths(path, capsys):
    """Hugging Face writes no path, or one that other files have, too."""
    for split, numbers in (("train", range(8)), ("test", range(8, COUNT))):
        records = [
            {"image": {"bytes": content(n), "path": path}, "text": f"a {n}"} for n in numbers
        ]
        parquet(f"own/{split}-00000-of-00001.parquet", records)
    dataset = prepared("own")
    assert "12 items, with image and text, 12 captions, splits 8 train, 4 test" in (
        capsys.readouterr().out
    )
    assert {dataset.read(item.image) for item in dataset.items} == {*map(content, range(COUNT))}


TABLES = {
    "a list is no path": [{"image": ["p/0.png"], "text": "a"}],
    "'https://x.org/a.png' is an address; download": [
        {"image": "https://x.org/a.png", "text": "a"}
    ],
    "is no caption, but float; give a text": [{"image": "p/0.png", "text": 2.5}],
    "is no label, but float; give a text": [{"image": "p/0.png", "text": "a", "label": 2.5}],
    "a list is no id; give a text": [{"image": "p/0.png", "text": "a", "id": [1]}],
    "has no id, and no image or speech": [{"text": "a"}],
    "the caption '\\ud800' cannot be stored": [{"image": "p/0.png", "text": "\ud800"}],
}


@pytest.mark.parametrize("reason", TABLES)
def test_a_record_of_a_wrong_kind_is_named_with_its_row(reason):
    photos(Path("own"), NAMES)
    good = [{"image": name, "text": f"a {n}"} for n, name in enumerate(NAMES)]
    lines(Path("own/a.jsonl"), good + TABLES[reason])
    assert "own/a.jsonl: row 13: " in refused("own")
    assert reason in refused("own")


NAMELESS = {
    "a.parquet": lambda path: parquet(path, [{"img": b"x", "prompt": "a"}] * COUNT),
    "a.jsonl": lambda path: lines(Path(path), [{"img": "a.png", "prompt": "a"}] * COUNT),
    "a.xlsx": lambda path: excel(path, [["img", "prompt"], ["a.png", "a"]]),
    "a.csv": lambda path: Path(path).write_text("img,prompt\na.png,a\n"),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_columns_of_unknown_names_are_told_with_the_page(name):
    Path("own").mkdir()
    NAMELESS[name](f"own/{name}")
    assert "img, prompt" in refused(f"own/{name}")
    assert "docs/formats.md" in refused(f"own/{name}")
    if name != "a.csv":
        assert "give such a file itself, which reads it or says why not" in refused("own")


def test_a_title_above_the_header_of_a_sheet_is_told():
    excel("own/a.xlsx", [["My holiday"], [], ["id", "image", "text"]])
    assert "no sheet's first row names two of" in refused("own/a.xlsx")
    assert "the first sheet has: My holiday" in refused("own/a.xlsx")


UNREAD = {
    ".caption.txt": [(".png", content), (".caption.txt", lambda n: b"a dog")],
    ".v1.png": [(".v1.png", content), (".txt", lambda n: b"a dog")],
    ".pth": [(".pth", content), (".txt", lambda n: b"a dog")],
}


@pytest.mark.parametrize("ending", UNREAD)
def test_endings_in_shards_that_are_not_read_are_told(ending):
    parts = UNREAD[ending]
    tar(Path("own/0.tar"), [(f"{n}{end}", made(n)) for n in range(COUNT) for end, made in parts])
    message = f"two of image, text, speech are needed; not read: {ending}; docs/formats.md"
    assert message in refused("own")


def test_columns_of_metadata_that_are_not_read_are_told():
    records = ({"file_name": name, "prompt": "a"} for name in photos(Path("own"), NAMES))
    lines(Path("own/metadata.jsonl"), records)
    assert "not read: prompt; docs/formats.md has names that are" in refused("own")


def coco(images, notes):
    photos(Path("own"), NAMES)
    whole = {
        "images": [{"id": n, "file_name": f"{n}.png"} for n in range(COUNT)] + images,
        "annotations": notes + [{"image_id": n, "caption": f"a {n}"} for n in range(COUNT)],
    }
    Path("own/captions.json").write_text(json.dumps(whole))


@pytest.mark.parametrize(
    ("images", "notes", "reason"),
    [
        ([], [{"image_id": 0, "bbox": [1]}], "row 1: annotation has no image_id or caption"),
        ([], [{"image_id": 99}], "row 1: annotation has no image_id or caption"),
        ([], [{"image_id": [0], "caption": "a"}], "row 1: annotation has no image_id or caption"),
        ([], [{"image_id": 99, "caption": "a"}], "row 1: annotation captions image 99, which"),
        ([{"id": 99, "file_name": "none.png"}], [], "row 13: no file of the name 'none.png'"),
        ([{"id": 99}], [], "row 13: image has no id or file_name"),
    ],
)
def test_what_does_not_fit_in_coco_s_json_is_named(images, notes, reason):
    coco(images, notes)
    assert f"own/captions.json: {reason}" in refused("own")


def test_json_lines_of_utf_16_are_refused_as_a_whole():
    Path("a.jsonl").write_bytes(json.dumps({"image": "a.png", "text": "a"}).encode("utf-16"))
    assert refused("a.jsonl") == "a.jsonl: is UTF-16; save it as UTF-8"


def test_shards_of_other_tools_are_read():
    """Folders with dots, names from `./`, capitals, remains of a Macintosh, no captions in JSON."""
    members = [(f"./d.ir/{name.upper()}", data) for n in range(COUNT) for name, data in sample(n)]
    extra = [("__MACOSX/._0.png", b"x"), (".DS_Store", b"x"), ("./d.ir/0000.JSON", b'{"a": 1}')]
    tar(Path("own/0.tar"), [*members[:2], extra[2], *members[2:], *extra[:2]])
    source = read_source(Path("own"))
    assert not source.bad.errors
    assert len({row["id"] for row in source.rows}) == COUNT


@pytest.mark.parametrize("shape", ["texts by file", "records in a field"])
def test_json_may_hold_texts_by_file_or_records_in_a_field(shape):
    photos(Path("own"), NAMES)
    texts = {name: [f"a {name}", "a dog"] for name in NAMES}
    records = [{"image": name, "captions": own} for name, own in texts.items()]
    whole = texts if shape == "texts by file" else {"version": 1, "data": records}
    Path("own/all.json").write_text(json.dumps(whole))
    source = read_source(Path("own/all.json"))
    assert [row["text"] for row in source.rows[:2]] == ["a p/0.png", "a dog"]
    assert {row["image"] for row in source.rows} == {*NAMES, ""}


@pytest.mark.parametrize("whole", [{}, {"a": 1}, {"a": [{}], "b": [{}]}, {"image": {"0": "a"}}, 3])
def test_json_of_another_shape_is_told_one_that_is_read(whole):
    Path("a.json").write_text(json.dumps(whole))
    assert refused("a.json").startswith("a.json: is no list of records; save one, such as [{")


def test_a_table_without_rows_is_told(tmp_path):
    Path("a.csv").touch()
    assert refused("a.csv").startswith("a.csv: is empty, or in no format that is read: ")
