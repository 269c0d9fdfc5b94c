"""Tables of other formats: what a row says, and which rows are refused."""

from pathlib import Path

import openpyxl
import pytest

from crossmodal.commands.init import init
from crossmodal.datasets._formats.reading import read_source
from crossmodal.errors import CrossmodalError
from tests.datasets.formats.samples import COUNT, content, lines, parquet, photos, prepared, refused
from tests.project_params import PATH

NAMES = [f"i{n}.png" for n in range(COUNT)]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(path, header, *rows):
    """Write a CSV of twelve pictures with captions and labels, and further rows."""
    photos(Path("own"), NAMES)
    whole = [f"{name},a circle {n},circle" for n, name in enumerate(NAMES)]
    Path(path).write_text("\n".join([header, *whole, *rows]))


CUT = {
    "4 fields, but 3 columns": "i3.png,a green circle, with sand,circle",
    "2 fields, but 3 columns": "i3.png,a green circle",
    "has a NUL character": "i3.png,a green\0 circle,circle",
}


@pytest.mark.parametrize("reason", CUT)
@pytest.mark.parametrize(
    ("path", "header"),
    [("own/metadata.csv", "file_name,text,label"), ("own/list.csv", "path,caption,class")],
)
def test_rows_of_other_lengths_are_malformed(path, header, reason):
    table(path, header, CUT[reason])
    name = "own" if path.endswith("metadata.csv") else path
    assert f"{path}: row 14" in refused(name)
    assert reason in refused(name)
    assert len(read_source(Path(name)).rows) == COUNT


def test_separators_behind_the_last_column_are_allowed():
    table("own/list.csv", "path,caption,class,,", "i3.png,a green circle,circle,")
    source = read_source(Path("own/list.csv"))
    assert (len(source.rows), source.bad.errors) == (COUNT + 1, [])


def test_columns_are_known_though_the_first_row_is_malformed():
    Path("list.csv").write_text("path,caption,class\ni3.png,a green circle\n")
    assert "list.csv: row 2: 2 fields, but 3 columns" in refused("list.csv")


def test_rows_of_one_image_id_are_captions_of_one_item():
    photos(Path("own"), NAMES)
    rows = [f"{2 * n + more},{n},i{n}.png,a {n} {more}" for n in range(COUNT) for more in (0, 1)]
    Path("own/list.csv").write_text("\n".join(["id,image_id,file_name,caption", *rows]))
    assert [row["id"] for row in read_source(Path("own/list.csv")).rows[:3]] == ["0", "0", "1"]


def test_a_csv_without_ids_is_read_where_it_is_named():
    table("own/list.csv", "image,text,labels")
    dataset = prepared("own/list.csv")
    assert len(dataset.items) == COUNT
    Path("mine.yaml").unlink()
    assert "image, text and speech: add them, or give own/list.csv itself" in refused("own")


def test_several_sheets_of_items_are_refused():
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("test"), book.create_sheet("notes")):
        sheet.append(["image", "caption"] if sheet.title != "notes" else ["who"])
    book.save("a.xlsx")
    assert "a.xlsx: sheets Sheet, test have items; join them" in refused("a.xlsx")


def test_columns_and_files_that_are_not_read_are_listed(capsys):
    table("own/metadata.csv", "file_name,text,language")
    photos(Path("own"), ["forgotten.png"])
    init(Path("own"), "mine", False, PATH)
    printed = capsys.readouterr().out
    assert "not read: language\n" in printed
    assert "1 pictures that own does not name, such as 'forgotten.png'\n" in printed


@pytest.mark.parametrize("separator", "\t|")
def test_a_quote_that_swallows_rows_is_refused(separator):
    rows = ["image,caption", 'a.png,"Stop says a sign', "b.png,a dog", 'c.png,it said go"']
    Path("list.csv").write_text("\n".join(rows).replace(",", separator))
    assert "list.csv: row 2: a field that begins with a quote runs on" in refused("list.csv")


@pytest.mark.parametrize("header", ["file_name,text,text", "file_name,text,Text"])
def test_repeated_columns_are_refused(header):
    table("own/metadata.csv", header)
    assert "own/metadata.csv: column 'text' is repeated" in refused("own")
    book = openpyxl.Workbook()
    for line in Path("own/metadata.csv").read_text().splitlines():
        book.active.append(line.split(","))
    book.save("own/a.xlsx")
    assert "own/a.xlsx: column 'text' is repeated" in refused("own/a.xlsx")


def with_bytes(path, *, id=None):
    """Write Parquet of twelve pictures, each in three rows with a caption."""
    records = [
        {"image": {"bytes": content(n), "path": path(n)}, "text": f"a dog {caption} {n}"}
        | ({} if id is None else {"id": id(n)})
        for caption in range(3)
        for n in range(COUNT)
    ]
    parquet("own/data.parquet", records)


def captions(dataset):
    """Pictures, and the captions of each."""
    return {
        dataset.read(item.image): [caption.text for caption in dataset.captions_of[item.id]]
        for item in dataset.items
    }


PATHS = {
    "paths": lambda n: f"i{n}.png",
    "one path": lambda n: "image.png",
    "absolute paths": lambda n: f"/pictures/i{n}.png",
    "addresses": lambda n: f"https://example.org/i{n}.png",
    "none": lambda n: None,
}


@pytest.mark.parametrize("id", [None, lambda n: n, lambda n: float(n)])
@pytest.mark.parametrize("path", PATHS)
def test_rows_of_equal_bytes_are_captions_of_one_item(path, id, capsys):
    with_bytes(PATHS[path], id=id)
    dataset = prepared("own")
    assert "12 items, with image and text, 36 captions" in capsys.readouterr().out
    expected = {content(n): [f"a dog {c} {n}" for c in range(3)] for n in range(COUNT)}
    assert captions(dataset) == expected
    ids = {item.id for item in dataset.items}
    if id:
        assert ids == {str(n) for n in range(COUNT)}
    elif path == "paths":
        assert ids == {f"i{n}" for n in range(COUNT)}


def test_rows_without_an_id_are_named_by_their_paths():
    ids = [float("nan"), None, 0.0, *map(float, range(1, COUNT))]
    records = [{"id": id, "image": f"{n}.png", "text": "a"} for n, id in enumerate(ids, 20)]
    parquet("own/a.parquet", records)
    source = read_source(Path("own/a.parquet"))
    assert {row["id"] for row in source.rows} == {"20", "21", *map(str, range(COUNT))}


def test_whole_labels_that_pandas_made_fractional_are_whole():
    labels = [1.0, float("nan"), *[2.0] * COUNT]
    lines(
        Path("a.jsonl"),
        [{"image": f"{n}.png", "text": "a", "label": label} for n, label in enumerate(labels)],
    )
    rows = read_source(Path("a.jsonl")).rows
    assert [row["labels"] for row in rows[:3]] == ["1", "", "2"]


CAPTIONS = {
    "captions.txt": "image,caption",  # Flickr8k and Flickr30k as Kaggle has them
    "results.csv": "image_name| comment_number| comment",
    "own.csv": "id,image,caption",
    "validated.tsv": "client_id\tpath\tsentence\tup_votes",
}


@pytest.mark.parametrize("name", CAPTIONS)
def test_files_in_a_sub_folder_are_found_by_their_names(name, capsys):
    header = CAPTIONS[name]
    separator = next(sign for sign in "|\t," if sign in header)
    photos(Path("own/Images"), NAMES)
    order = [part.strip() for part in header.split(separator)]
    rows = [
        separator.join(
            file if part in ("image", "image_name", "path") else f"{part} of {n} by the sea"
            for part in order
        )
        for n, file in enumerate(NAMES)
    ]
    Path("own", name).write_text("\n".join([header, *rows]))
    dataset = prepared(f"own/{name}")
    assert "12 items, with image and text, 12 captions" in capsys.readouterr().out
    assert [dataset.read(item.image) for item in dataset.items[:2]] == [content(0), content(1)]


@pytest.mark.parametrize(("folders", "stated"), [("b", "a/"), ("ab", "")])
def test_a_file_that_may_not_be_meant_is_not_taken(folders, stated):
    for folder in folders:
        photos(Path("own", folder), NAMES)
    lines(Path("own/data.jsonl"), ({"image": f"{stated}{name}", "text": "a"} for name in NAMES))
    with pytest.raises(CrossmodalError, match=rf"own/{stated}i0\.png: No such file"):
        prepared("own")


def test_the_folder_that_a_table_is_called_like_comes_first():
    for folder in ("train", "test"):
        photos(Path("own", folder), NAMES)
        rows = ({"image": name, "text": f"{folder} {name}"} for name in NAMES)
        lines(Path(f"own/{folder}.jsonl"), rows)
    assert {row["image"] for row in read_source(Path("own")).rows} == {
        f"{folder}/{name}" for folder in ("train", "test") for name in NAMES
    }
