import bisect
import contextlib
import csv
import io
import itertools
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from crossmodal.commands.init import init
from crossmodal.config import params
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.project_params import PATH

SECTIONS = ("datasets", "experiments", "tables")


@pytest.fixture
def begin(tmp_path, monkeypatch, capsys):
    """Call init on a folder with the given files; what it prints."""

    def begin(*files, folder="holiday", name=None, skip_bad=False):
        for file in files:
            path = tmp_path / folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        init(tmp_path / folder if name else type(tmp_path)(folder), name, skip_bad, PATH)
        return capsys.readouterr().out

    return begin


def pictures(count=12, *labels):
    return [
        f"{labels[n % len(labels)]}/dog {n}.jpg" if labels else f"dog {n}.jpg" for n in range(count)
    ]


def experiments(name="holiday"):
    found = params.read(PATH, type(PATH)(f"{name}.yaml"))
    return [found.experiments[e] for e in found.tables[name].experiments]


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    """Whether a sentence encoder is installed: only where a test says so."""
    found = {"installed": False}
    monkeypatch.setattr("crossmodal.commands.init.has_encoder", lambda: found["installed"])
    return found


@pytest.mark.parametrize("labels", [(), ("sea", "alps")])
def test_a_sentence_encoder_reads_the_texts_of_few_items(begin, encoder, monkeypatch, labels):
    encoder["installed"] = True
    begin(*pictures(12, *labels))
    said = yaml.safe_load(Path("holiday.yaml").read_text())["experiments"]["holiday"]
    assert said["views"] == {"image": "lite0_fne_z", "text": "sentence_item"}
    assert {*said["rows"]} == ({"cca", "sam"} if labels else {"cca"})
    monkeypatch.setattr("crossmodal.commands.init.SMALL", 11)
    begin(*pictures(), folder="beach")
    said = yaml.safe_load(Path("beach.yaml").read_text())["experiments"]["beach"]
    assert said["views"]["text"] == "bow_item"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ein Hund läuft über die Straße", "de"),
        ("红色圆形", "zh"),
        ("Красный круг", "und"),
        ("A dog runs on the beach", "en"),
        ("dog", "und"),
    ],
)
def test_the_language_of_captions_is_guessed_and_said(begin, encoder, tmp_path, text, language):
    encoder["installed"] = True
    (tmp_path / "holiday").mkdir()
    rows = "".join(f"{n},{n}.jpg,{text}\n" for n in range(12))
    (tmp_path / "holiday/my.csv").write_text(f"id,image,text\n{rows}", encoding="utf-8")
    assert f"captions: language {language} (a guess); " in begin("a.jpg")
    found = params.read(PATH, Path("holiday.yaml"))
    assert found.dataset_of("holiday").language == language
    is_english = text.isascii()
    assert experiments()[0].views["text"] == ("sentence_item" if is_english else "bow_item")
    assert ("holiday_sentences" in found.features) != is_english


def with_languages(tmp_path, *codes):
    """Write a CSV of captions in some languages."""
    (tmp_path / "holiday").mkdir(exist_ok=True)
    rows = "".join(f"{n},{n}.jpg,a dog,{codes[n % len(codes)]}\n" for n in range(12))
    (tmp_path / "holiday/my.csv").write_text(f"id,image,text,language\n{rows}")


@pytest.mark.parametrize("codes", [("no",), ("de", "no"), ("ON",), ("pt-BR",)])
def test_languages_of_a_column_are_those_of_the_overlay(begin, tmp_path, codes):
    with_languages(tmp_path, *codes)
    assert f"captions: language {', '.join(codes)} (as its column says)" in begin()
    language = params.read(PATH, Path("holiday.yaml")).plugin("datasets", "holiday")
    assert language["options"]["language"] == (codes[0] if len(codes) == 1 else [*codes])


@pytest.mark.parametrize("code", ["zh_CN", "de: x", "en # x", "German", "[de"])
def test_a_language_that_is_no_code_is_refused(begin, tmp_path, code):
    with_languages(tmp_path, "de", code)
    with pytest.raises(CrossmodalError) as caught:
        begin()
    reason = f"holiday/my.csv: row 3, column 'language': {code!r} is no language by BCP 47"
    assert str(caught.value).splitlines()[0].startswith(reason)
    assert len(str(caught.value).splitlines()) == 6
    assert not Path("holiday.yaml").exists()


def test_a_folder_becomes_a_csv_an_overlay_and_one_command(begin, tmp_path):
    printed = begin(*pictures(12, "sea", "alps"))
    assert "holiday: 12 pictures\n" in printed
    assert "12 items; modalities image and text; 12 captions; 2 labels" in printed
    command = "crossmodal run --cores 8 results/tables/holiday.md --configfile holiday.yaml"
    assert printed.endswith(f"\n  {command}\n")
    with (tmp_path / "holiday/items.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0] == {
        "id": "alps/dog 1",
        "image": "alps/dog 1.jpg",
        "text": "dog",
        "labels": "alps",
    }
    for spec in experiments():
        assert (spec.dataset, spec.relevance) == ("holiday", "category")
        assert spec.views == {"image": "lite0_fne_z", "text": "bow_item"}


def test_without_labels_the_method_learns_from_pairs(begin):
    begin(*pictures())
    assert {spec.method for spec in experiments()} == {"ridge"}


def test_speech_and_text_are_read_as_vectors(begin):
    begin(*(f"{word}/voice{n}.wav" for n in range(6) for word in ("one", "two")))
    assert [*experiments()[0].views.values()] == ["bow_item", "logmel_statistics"]


def test_a_csv_is_used_as_it_is(begin, tmp_path):
    table = tmp_path / "holiday/my.csv"
    table.parent.mkdir()
    text = "id,image,text,labels\na,a.jpg,x,p;q\nb,b.jpg,y,p\n"
    table.write_text(text)
    begin("a.jpg", "b.jpg")
    assert table.read_text() == text
    assert not (tmp_path / "holiday/items.csv").exists()
    assert experiments()[0].relevance == "labels"
    assert '"holiday/my.csv"' in (tmp_path / "holiday.yaml").read_text()


def test_a_csv_in_capitals_is_used(begin, tmp_path):
    table = tmp_path / "holiday/ITEMS.CSV"
    table.parent.mkdir()
    table.write_text("id,image,text,labels\na,a.jpg,x,p;q\nb,b.jpg,y,p\n")
    begin("a.jpg", "b.jpg")
    assert not (tmp_path / "holiday/items.csv").exists()
    found = params.read(PATH, Path("holiday.yaml"))
    assert found.plugin("datasets", "holiday")["options"]["csv"] == "holiday/ITEMS.CSV"


def test_files_that_a_csv_does_not_name_are_left_out(begin, tmp_path):
    table = tmp_path / "holiday/items.csv"
    table.parent.mkdir()
    table.write_text("id,image,text\na,cafe\u0301.jpg,x\nb,sub\\b.jpg,y\n", encoding="utf-8")
    printed = begin("caf\u00e9.jpg", "sub/b.jpg", "c.jpg", "d.m4a", "sub/exif.csv")
    assert "read holiday/items.csv: 2 items\n" in printed
    assert "1 pictures that holiday/items.csv does not name, such as 'c.jpg'\n" in printed
    assert "1 .m4a, not read, such as 'd.m4a'" in printed
    assert "1 CSVs of another shape or in a sub-folder, not read, such as 'sub/exif.csv'" in printed


def test_files_of_absolute_paths_are_not_left_out(begin, tmp_path):
    folder = tmp_path / "holiday"
    folder.mkdir()
    (folder / "items.csv").write_text(f"id,image,text\na,{folder}/a.jpg,x\nb,../holiday/b.jpg,y\n")
    printed = begin("a.jpg", "b.jpg", "c.jpg")
    assert "1 pictures that holiday/items.csv does not name, such as 'c.jpg'\n" in printed


def test_a_csv_whose_columns_do_not_suffice_is_told_the_way(begin, tmp_path):
    (tmp_path / "holiday").mkdir()
    (tmp_path / "holiday/my.csv").write_text("id,image,caption\na,a.jpg,x\n")
    with pytest.raises(CrossmodalError, match=r"columns id, image, caption; .* or give .*my\.csv"):
        begin("a.jpg")
    (tmp_path / "holiday/more.csv").write_text("id,image,text\na,a.jpg,x\n")
    with pytest.raises(CrossmodalError, match="2 CSVs; join them, with a column `split`"):
        begin("a.jpg")


@pytest.mark.parametrize("code", ["en-GB", "EN"])
def test_english_of_any_country_is_english(begin, encoder, tmp_path, code):
    encoder["installed"] = True
    with_languages(tmp_path, code)
    begin("a.jpg")
    assert experiments()[0].views["text"] == "sentence_item"
    assert "holiday_sentences" not in params.read(PATH, Path("holiday.yaml")).features


def test_sounds_that_most_items_lack_are_told(begin):
    printed = begin(*pictures(), "dog 3.wav")
    assert "1 items with speech, which most lack, such as 'dog 3.jpg'; it is not read\n" in printed


def test_a_csv_of_another_shape_is_named_and_not_used(begin, tmp_path):
    table = tmp_path / "holiday/exif.csv"
    table.parent.mkdir()
    table.write_text("filename,width\na.jpg,3\n")
    printed = begin(*pictures())
    assert "12 items; modalities image and text" in printed
    assert "1 CSVs of another shape or in a sub-folder, not read, such as 'exif.csv'" in printed


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    "header", ["ID,Image,Text", "sep=;\nid;image;text;;", '"","id","image","text"']
)
def test_a_csv_as_programs_save_it_is_a_table(begin, tmp_path, encoding, header):
    table = tmp_path / "holiday/my.csv"
    table.parent.mkdir()
    names = header.splitlines()[-1]
    row = names.replace('""', "0").lower().replace("image", "a.jpg")
    table.write_text(f"{header}\n{row}\n", encoding=encoding)
    assert "read holiday/my.csv: 1 items\n" in begin("a.jpg")


def test_incomplete_csv_is_refused_and_nothing_written(begin, tmp_path):
    (tmp_path / "holiday").mkdir()
    (tmp_path / "holiday/my.csv").write_text("id,text\na,x\n")
    with pytest.raises(CrossmodalError, match=r"my\.csv: has .* two of the columns image"):
        begin("a.jpg")
    assert not (tmp_path / "holiday.yaml").exists()


@pytest.mark.parametrize("name", ["holiday", "wikipedia", "my holiday", "pascal", "all", "claims"])
def test_existing_files_and_taken_names_are_refused(begin, tmp_path, name):
    (tmp_path / "holiday.yaml").write_text("mine")
    with pytest.raises(CrossmodalError, match="--name"):
        begin(*pictures(), name=name)
    assert (tmp_path / "holiday.yaml").read_text() == "mine"
    assert not (tmp_path / "holiday/items.csv").exists()


def test_items_that_lack_what_most_have_are_left_out_with_a_word(begin):
    printed = begin(*pictures(), "IMG_1.jpg", "IMG_2.jpg")
    assert "12 items; " in printed
    assert (
        "left out:\n  2 items that lack image or text, such as 'IMG_1.jpg', 'IMG_2.jpg'\n"
        in printed
    )


def test_too_little_is_refused_with_what_to_do(begin, tmp_path):
    with pytest.raises(CrossmodalError, match=r"20 items, 20 with image, 0 with text.*Name files"):
        begin(*(f"IMG_{n}.jpg" for n in range(20)))
    assert not (tmp_path / "holiday.yaml").exists()


def test_a_folder_of_the_project_is_kept_out_of_git(begin, tmp_path):
    begin(*pictures())
    assert re.search(r"^\*$", (tmp_path / "holiday/.gitignore").read_text(), re.MULTILINE)
    (tmp_path / "beach").mkdir()
    (tmp_path / "beach/.gitignore").write_text("mine")
    begin(*pictures(), folder="beach")
    assert (tmp_path / "beach/.gitignore").read_text() == "mine"


def test_the_project_itself_stays_in_git(begin, tmp_path):
    begin(*pictures(), folder=".", name="mine")
    assert (tmp_path / "items.csv").exists()
    assert not (tmp_path / ".gitignore").exists()


def test_folders_of_splits_become_a_column_and_are_said(begin, tmp_path):
    names = [
        f"{split}/{label}/dog {n}.jpg"
        for n in range(4)
        for split in ("train", "val", "test")
        for label in ("sea", "alps")
    ]
    printed = begin(*names)
    assert "splits, as the folders say: 8 train, 8 validation, 8 test\n" in printed
    assert "2 labels" in printed
    with (tmp_path / "holiday/items.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["labels"], row["split"], row["image"].split("/")[0]) for row in rows} == {
        (label, split, folder)
        for label in ("sea", "alps")
        for split, folder in (("train", "train"), ("validation", "val"), ("test", "test"))
    }


def test_a_folder_that_cannot_be_written_gets_its_csv_elsewhere(begin, tmp_path, monkeypatch):
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path.name != "holiday" and access(path, mode)
    )
    for _ in range(2):  # the second call finds the CSV of the first
        printed = begin(*pictures())
        assert "holiday is read-only: `root` in holiday.yaml" in printed
    assert [path.suffix for path in (tmp_path / "holiday").iterdir()] == [".jpg"] * 12
    assert sorted(path.name for path in (tmp_path / "holiday_table").iterdir()) == [
        ".gitignore",
        "items.csv",
    ]
    said = yaml.safe_load(Path("holiday.yaml").read_text())["datasets"]["holiday"]
    assert (said["csv"], said["root"]) == ("holiday_table/items.csv", "holiday")


@pytest.mark.parametrize("name", ["2024", "2024_05", "no", "1e3", "null", "_x"])
def test_a_name_that_yaml_reads_otherwise_stays_a_name(begin, name):
    begin(*pictures(), name=name)
    assert [spec.dataset for spec in experiments(name)] == [name]


@pytest.mark.parametrize("name", ["-x", "a b", "ä", "a/b", "..", "a\n"])
def test_a_name_that_commands_or_files_cannot_have_is_refused(begin, name):
    with pytest.raises(CrossmodalError, match="--name"):
        begin(*pictures(), name=name)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        *(("über's", "uber_s"), ("-rf", "rf"), ("写真", "own"), ("a" * 255, "a" * 60)),
        *(("My Photos (2)", "My_Photos_2"), ("Screen\u202fshots", "Screen_shots")),
    ],
)
def test_a_folder_of_any_name_gives_a_name(begin, tmp_path, folder, name):
    begin(*pictures(), folder=folder)
    said = yaml.safe_load((tmp_path / f"{name}.yaml").read_text(encoding="utf-8"))
    assert said["datasets"][name]["csv"] == f"{folder}/items.csv"


def test_the_same_call_again_ends_alike(begin, tmp_path):
    first = begin(*pictures())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = begin()
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert first.splitlines()[-2:] == again.splitlines()[-2:]


def ends(run, last):
    """Run in a child process that is killed at its call number `last`; true if it ended before."""
    child = os.fork()
    if not child:
        number = itertools.count()
        sys.setprofile(lambda *_: next(number) >= last and os.kill(os.getpid(), signal.SIGKILL))
        with contextlib.redirect_stdout(io.StringIO()):
            run()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_a_call_after_a_kill_at_any_moment_ends_as_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "crossmodal.commands.init.read_files", lambda _: {key: {} for key in SECTIONS}
    )
    for name in pictures(12, "sea", "alps"):
        (tmp_path / "holiday" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "holiday" / name).touch()
    paths = [*map(Path, ("holiday/.gitignore", "holiday/items.csv", "holiday.yaml"))]

    def begin():
        init(Path("holiday"), None, False, PATH)

    def written():
        return {path: path.read_bytes() for path in paths if path.exists()}

    def ends_anew(last):
        for path in paths:
            path.unlink(missing_ok=True)
        for rest in [*Path().rglob(".unfinished-*")]:  # of which listing would take longer
            shutil.rmtree(rest)
        return ends(begin, last)

    begin()
    whole, states = written(), set()
    last = bisect.bisect_left(range(1 << 16), True, key=ends_anew)  # calls of a whole run
    for moment in range(0, last, max(1, last // 60)):
        assert not ends_anew(moment)
        assert written().items() <= whole.items()  # each file is complete or absent
        states.add(len(written()))
        begin()
        assert written() == whole
    assert states >= {0, 2}


NAMES = [
    *("a", "A", "caf\u00e9", "cafe\u0301", " a", "a ", "-rf", "--help", "a\\b", "c:a", "data:a"),
    *("a\nb", "a\x1bb", "Screenshot at 3.07.12\u202fPM", "um 3.07\u00a0Uhr", "sea\u00adside"),
    *(
        "\U0001f468\u200d\U0001f467",
        "\u0645\u06cc\u200c\u062e",
        "e" * 251,
        "\u00e9" * 125,
        "sub /a",
    ),
    *("x;y/a", "a.b..c", "http://a", "=1+2", "a,b", 'a"b', "$(a)", "*", "~"),
]


def test_files_of_any_name_are_read_by_prepare(begin, tmp_path):
    for number, name in enumerate(NAMES):
        path = tmp_path / "holiday" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(255, size=(9, 9, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        path.with_name(f"{path.stem}.txt").write_text(f"text {number}")
    printed = begin()
    assert f"{len(NAMES)} items; modalities image and text; {len(NAMES)} captions" in printed
    assert "left out:\n  nothing\n" in printed
    options = yaml.safe_load(Path("holiday.yaml").read_text())["datasets"]["holiday"]
    del options["plugin"]
    prepare(PrepareSpec(plugin="folder", options=options), Path("unread"), Path("prepared"))
    prepared = Prepared("prepared")
    images = {path.read_bytes() for path in (tmp_path / "holiday").rglob("*.png")}
    assert {prepared.read(item.image) for item in prepared.items} == images
    assert {caption.text for caption in prepared.captions} == {
        f"text {number}" for number in range(len(NAMES))
    }


def test_a_folder_elsewhere_gets_no_such_file(begin, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    begin(*pictures(), name="mine")
    assert not (tmp_path / "holiday/.gitignore").exists()
    assert str(tmp_path / "holiday/items.csv") in (project / "mine.yaml").read_text()


@pytest.mark.parametrize("skip_bad", [False, True])
def test_init__states_whether_broken_files_are_left_out(begin, skip_bad):
    begin(*pictures(), skip_bad=skip_bad)
    overlay = yaml.safe_load(Path("holiday.yaml").read_text())
    assert overlay["datasets"]["holiday"].get("skip_bad", False) is skip_bad


def test_a_large_folder_gets_its_media_in_shards(begin, tmp_path):
    begin(*pictures(12))
    assert params.read(PATH, Path("holiday.yaml")).shard_size_of("holiday") is None
    begin(*pictures(12), folder="large")
    os.truncate(tmp_path / "large/dog 1.jpg", 10**9 + 1)  # a hole, which takes no room
    Path("large.yaml").unlink()
    begin(folder="large")
    assert params.read(PATH, Path("large.yaml")).shard_size_of("large") == 10**9
