"""Arrays become a CSV, an overlay and one command."""

import csv
from pathlib import Path

import numpy as np
import pytest

from crossmodal.commands.init_arrays import init_arrays
from crossmodal.config import params
from crossmodal.errors import CrossmodalError
from tests.project_params import PATH

COUNT = 30
IDS = [f"item{n}" for n in range(COUNT)]
FILES = {"image": Path("clip_images.npy"), "text": Path("clip_texts.npy")}


@pytest.fixture
def begin(capsys):
    """Call init_arrays; what it prints."""

    def begin(ids="ids.csv", name=None, files=FILES):
        init_arrays(files, ids, name, PATH)
        return capsys.readouterr().out

    return begin


def save(columns=None, images=COUNT, texts=COUNT, widths=(8, 8)):
    np.save(FILES["image"], np.ones((images, widths[0])))
    np.save(FILES["text"], np.ones((texts, widths[1])))
    columns = columns or {"id": IDS}
    with open("ids.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([[*columns], *zip(*columns.values(), strict=True)])


def test_arrays_of_one_file_are_named_after_it(begin):
    save()
    arrays = {modality: np.load(file) for modality, file in FILES.items()}
    np.savez("both.npz", **arrays, ids=np.array(IDS))
    printed = begin(ids="ids", files={m: Path(f"both.npz:{m}") for m in arrays})
    assert "read both.npz:image: 30 x 8, a row is the image of one item\n" in printed
    found, _, rows = written("both")
    assert [row["id"] for row in rows] == IDS
    assert found.plugin("features", "both_text")["options"]["name"] == "text"


def written(name="clip"):
    found = params.read(PATH, Path(f"{name}.yaml"))
    with open(f"{name}_table/items.csv", encoding="utf-8") as stream:
        rows = [*csv.DictReader(stream)]
    return found, [found.experiments[e] for e in found.tables[name].experiments], rows


def test_matrices_become_a_csv_an_overlay_and_one_command(begin):
    labels = [f"kind{n % 3}" for n in range(COUNT)]
    save({"id": IDS, "Labels": labels, "url": IDS})
    printed = begin()
    assert "read clip_images.npy: 30 x 8, a row is the image of one item\n" in printed
    assert "left out: columns url of ids.csv\n" in printed
    command = "crossmodal run --cores 8 results/tables/clip.md --configfile clip.yaml"
    assert printed.endswith(f"now run:\n  {command}\n")
    found, specs, rows = written()
    assert rows[1] == {"id": "item1", "labels": "kind1"}
    assert {spec.method for spec in specs} == {"frozen", "cca", "ridge", "en", "sam"}
    assert {spec.relevance for spec in specs} == {"category"}
    for spec in specs:
        assert spec.views == {"image": "clip_image", "text": "clip_text"}
    assert found.feature_of("clip_text").files == ("clip_texts.npy", "ids.csv")
    assert Path("clip_table/.gitignore").exists()
    assert begin() == printed  # the same again


def test_methods_suit_what_there_is(begin):
    save({"id": IDS, "labels": ["a;b"] * COUNT}, widths=(8, 9))
    begin()
    _, specs, _ = written()
    assert {spec.relevance for spec in specs} == {"labels"}
    assert "frozen" not in {spec.method for spec in specs}  # they are in no common space
    save()
    begin(name="pairs")
    assert {s.method for s in written("pairs")[1]} == {"frozen", "cca", "ridge", "en"}


def test_repeated_ids_are_captions(begin):
    ids = [id for id in IDS for _ in range(2)]
    save({"id": ids}, texts=2 * COUNT)
    assert "clip_texts.npy: 60 x 8, a row is the text of one caption" in begin()
    found, _, rows = written()
    assert [row["id"] for row in rows] == ids
    text, image = (found.plugin("features", f"clip_{m}")["options"] for m in ("text", "image"))
    assert (text["unit"], text["ids"]) == ("caption", "ids.csv")
    assert (image["unit"], image["ids"]) == ("item", "order")


def test_a_view_may_be_texts_of_the_csv(begin):
    save({"id": IDS, "text": ["a dog runs on the grass"] * COUNT})
    begin(files={"image": FILES["image"]}, name="mine")
    found, specs, rows = written("mine")
    assert specs[0].views == {"image": "mine_image", "text": "bow_item"}
    assert rows[0]["text"] == "a dog runs on the grass"
    assert found.dataset_of("mine").language == "en"


def test_languages_of_a_column_are_those_of_the_overlay(begin):
    save({"id": IDS, "text": ["Ein Hund"] * COUNT, "language": ["no", "de"] * (COUNT // 2)})
    begin()
    assert written()[0].dataset_of("clip").languages == ["de", "no"]
    save({"id": IDS, "language": ["zh_CN", *["de"] * (COUNT - 1)]})
    with pytest.raises(CrossmodalError, match=r"ids\.csv: row 2, column 'language': 'zh_CN' is no"):
        begin(name="mine")


@pytest.mark.parametrize("ids", ["order", "ids.txt", "ids.npy", "name"])
def test_ids_may_be_elsewhere(begin, ids):
    save()
    files = FILES
    if ids == "ids.txt":
        Path(ids).write_text("\n".join(IDS), encoding="utf-8")
    elif ids == "ids.npy":
        np.save(ids, IDS)
    elif ids == "name":
        files = {modality: path.with_suffix(".npz") for modality, path in FILES.items()}
        for path in files.values():
            np.savez(path, rows=np.ones((COUNT, 4)), name=IDS)
    begin(ids, files=files)
    expected = [*map(str, range(COUNT))] if ids == "order" else IDS
    assert [row["id"] for row in written()[2]] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": None}, "give --ids"),
        ({"files": {"image": FILES["image"]}}, "image alone; give features of another modality"),
        ({"name": "wikipedia"}, "taken by an entry of params.yaml, .*; give --name"),
        ({"name": "sentence", "files": {"image": FILES["image"]}}, "image alone"),
    ],
)
def test_what_does_not_suit_is_refused_and_nothing_written(begin, arguments, message):
    save()
    before = {*Path().iterdir()}
    with pytest.raises(CrossmodalError, match=message):
        begin(**arguments)
    assert {*Path().iterdir()} == before


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"images": 29}, "clip_images.npy: has 29 rows, but ids.csv names 30 items; give one"),
        ({"columns": {"name": IDS}}, "ids.csv: has no column 'id'"),
        ({"columns": {"id": IDS[:3]}, "images": 3, "texts": 3}, "names 3 items; 10 are needed"),
    ],
)
def test_rows_that_do_not_suit_the_ids_are_refused(begin, saved, message):
    save(**saved)
    with pytest.raises(CrossmodalError, match=message):
        begin()


def test_rows_of_the_ids_with_too_many_fields_are_refused(begin):
    save({"id": IDS, "text": ["a red circle"] * COUNT, "labels": ["circle"] * COUNT})
    with open("ids.csv", "a", encoding="utf-8") as stream:
        stream.write("i0,a red circle, with a comma,circle\n")
    with pytest.raises(CrossmodalError, match=r"ids\.csv: row 32: 4 fields, but 3 columns"):
        begin(name="mine")
    assert not Path("mine.yaml").exists()


def test_an_overlay_of_the_user_stays(begin):
    save()
    Path("clip.yaml").write_text("mine")
    with pytest.raises(CrossmodalError, match=r"clip\.yaml: exists already"):
        begin()
    assert Path("clip.yaml").read_text() == "mine"


def test_ids_may_be_of_a_table_with_tabs(begin):
    save({"id": IDS, "labels": ["a"] * COUNT})
    Path("ids.tsv").write_text(Path("ids.csv").read_text().replace(",", "\t"))
    begin("ids.tsv")
    found, _, rows = written()
    assert rows[1] == {"id": "item1", "labels": "a"}
    assert found.feature_of("clip_text").files == ("clip_texts.npy", "ids.tsv")


def test_ids_in_a_file_of_another_kind_are_told_the_kinds(begin):
    save()
    Path("ids.xlsx").write_bytes(b"")
    with pytest.raises(CrossmodalError, match=r"ids\.xlsx: is none of \.csv, \.tsv, \.txt"):
        begin("ids.xlsx")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["/data/0.jpg", *IDS[1:]]}, "row 2, column 'id': '/data/0.jpg' cannot name a file"),
        ({"id": IDS, "split": ["val"] * COUNT}, "row 2, column 'split': 'val' is not one of"),
    ],
)
def test_what_prepare_would_refuse_is_named_at_once(begin, columns, message):
    save(columns)
    with pytest.raises(CrossmodalError, match=f"ids.csv: {message}"):
        begin()
    assert not Path("clip.yaml").exists()


def test_lists_of_labels_as_pandas_writes_them_are_several(begin):
    save({"id": IDS, "labels": ["['a', 'b']"] * COUNT})
    begin()
    assert {spec.relevance for spec in written()[1]} == {"labels"}
