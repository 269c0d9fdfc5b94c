import csv
import re
from pathlib import Path

import pytest
import yaml

from crossmodal.config import params
from crossmodal.errors import CrossmodalError
from crossmodal.steps.init import init
from tests.project_params import PATH


@pytest.fixture
def begin(tmp_path, monkeypatch, capsys):
    """Call init on a folder with the given files; what it prints."""
    monkeypatch.chdir(tmp_path)

    def begin(*files, folder="holiday", name=None):
        for file in files:
            path = tmp_path / folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        init(tmp_path / folder if name else type(tmp_path)(folder), name, PATH)
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
    monkeypatch.setattr("crossmodal.steps.init.has_encoder", lambda: found["installed"])
    return found


@pytest.mark.parametrize("labels", [(), ("sea", "alps")])
def test_a_sentence_encoder_reads_the_texts_of_few_items(begin, encoder, monkeypatch, labels):
    encoder["installed"] = True
    begin(*pictures(12, *labels))
    said = yaml.safe_load(Path("holiday.yaml").read_text())["experiments"]["holiday"]
    assert said["views"] == {"image": "lite0_fne_z", "text": "sentence_item"}
    assert {*said["rows"]} == ({"cca", "sam"} if labels else {"cca"})
    monkeypatch.setattr("crossmodal.steps.init.SMALL", 11)
    begin(*pictures(), folder="beach")
    said = yaml.safe_load(Path("beach.yaml").read_text())["experiments"]["beach"]
    assert said["views"]["text"] == "bow_item"


def test_a_folder_becomes_a_csv_an_overlay_and_one_command(begin, tmp_path):
    printed = begin(*pictures(12, "sea", "alps"))
    assert "holiday: 12 pictures\n" in printed
    assert "12 items; modalities image and text; 12 captions; 2 labels" in printed
    command = "snakemake --cores 8 results/tables/holiday.md --configfile holiday.yaml"
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


def test_a_csv_without_the_columns_is_refused_and_nothing_is_written(begin, tmp_path):
    (tmp_path / "holiday").mkdir()
    (tmp_path / "holiday/my.csv").write_text("id,text\na,x\n")
    with pytest.raises(CrossmodalError, match=r"my\.csv: needs .* two of the columns image"):
        begin("a.jpg")
    assert not (tmp_path / "holiday.yaml").exists()


@pytest.mark.parametrize("name", ["holiday", "wikipedia", "my holiday", "pascal"])
def test_nothing_is_overwritten_and_a_name_that_is_taken_is_refused(begin, tmp_path, name):
    (tmp_path / "holiday.yaml").write_text("mine")
    with pytest.raises(CrossmodalError, match="--name"):
        begin(*pictures(), name=name)
    assert (tmp_path / "holiday.yaml").read_text() == "mine"
    assert not (tmp_path / "holiday/items.csv").exists()


def test_items_that_lack_what_most_have_are_left_out_with_a_word(begin):
    printed = begin(*pictures(), "IMG_1.jpg", "IMG_2.jpg")
    assert "12 items; " in printed
    assert "2 left out, which lack one" in printed


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


def test_a_folder_elsewhere_gets_no_such_file(begin, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    begin(*pictures(), name="mine")
    assert not (tmp_path / "holiday/.gitignore").exists()
    assert str(tmp_path / "holiday/items.csv") in (project / "mine.yaml").read_text()
