import os
from pathlib import Path

import pytest

from crossmodal.config import plugins
from crossmodal.errors import CrossmodalError
from tests.datasets.own_data import OPTIONS, make_folder, picture, run, write

HEADER = ["id", "language", "image", "text", "labels", "split", "english"]
ROWS = [
    ["dog", "es", "photos/dog.png", "Un perro", "animal", "train", "A dog"],
    ["dog", "fr", "", "Un chien", "", "", "A dog"],
    ["sea", "es", "photos/sea.png", "El mar", "", "validation", "The sea"],
    ["sea", "pt-BR", "", "O mar", "", "", "The sea"],
    ["cat", "fr", "", "Un chat", "", "", "A cat"],
    ["cat", "es", "photos/cat.png", "Un gato", "animal", "test", "A cat"],
]
SPLIT_OF = {"dog": "train", "sea": "validation", "cat": "test"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with a folder whose CSV has captions in several languages."""
    monkeypatch.chdir(tmp_path)
    make_folder()
    write(ROWS, HEADER)


@pytest.mark.filterwarnings("ignore:.*columns that are not read")
@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("es", ["Un perro", "El mar", "Un gato"]),
        (["es"], ["Un perro", "El mar", "Un gato"]),
        (["fr", "pt"], ["Un chien", "O mar", "Un chat"]),
        (["es", "fr"], ["Un perro", "Un chien", "El mar", "Un chat", "Un gato"]),
    ],
)
def test_captions_of_the_dataset_s_languages_are_read(language, texts):
    dataset = run(language=language)
    assert [caption.text for caption in dataset.captions] == texts
    assert [item.image for item in dataset.items] == [f"images/{id}.png" for id in SPLIT_OF]
    assert [item.labels for item in dataset.items] == [("animal",), (), ("animal",)]
    assert dataset.splits == SPLIT_OF


@pytest.mark.filterwarnings("ignore:.*columns that are not read")
def test_items_without_such_a_caption_are_left_out():
    extra = ["owl", "fr", "photos/dog.png", "Un hibou", "", "train", ""]
    write([*ROWS, extra], HEADER)
    assert [item.id for item in run(language="es").items] == [*SPLIT_OF]


def test_the_language_of_several_is_undecided():
    made = [plugins.make("datasets", "folder", OPTIONS | o, "d") for o in ({}, {"language": "fr"})]
    made += [plugins.make("datasets", "folder", OPTIONS | {"language": ["es", "fr"]}, "d")]
    assert [each.language for each in made] == ["en", "fr", "mul"]


def test_a_language_without_captions_is_refused_with_those_there():
    with pytest.raises(CrossmodalError, match=r"no row in de; set `language` .* es, fr, pt-BR"):
        run(language="de")


def test_columns_that_are_not_read_are_named():
    with pytest.warns(UserWarning, match=r"mine/items\.csv: columns that are not read: english"):
        run(language="es")


def test_another_csv_may_have_the_items_for_testing():
    Path("others/pictures").mkdir(parents=True)
    for name in ("owl", "fox"):
        picture(len(name) + ord(name[0])).save(f"others/pictures/{name}.png")
    write([row[:-2] for row in ROWS], HEADER[:-2])
    rows = ["id,image,text,language", "owl,pictures/owl.png,Un hibou,fr", "fox,pictures/fox.png"]
    rows[-1] += ",Un renard,fr"
    Path("others/items.csv").write_text("\n".join(rows), encoding="utf-8")
    dataset = run(language="fr", test_csv="others/items.csv", validation=0.4)
    tested = {item for item, split in dataset.splits.items() if split == "test"}
    assert tested == {"owl", "fox"}
    assert sorted(dataset.splits) == ["cat", "dog", "fox", "owl"]
    assert dataset.read("images/owl.png") == Path("others/pictures/owl.png").read_bytes()
    options = OPTIONS | {"test_csv": "others/items.csv", "language": "fr"}
    made = plugins.make("datasets", "folder", options, "d")
    assert Path("others/pictures/fox.png") in [Path(os.path.normpath(p)) for p in made.files()]
    assert made.own_paths() == [Path("mine"), Path("others")]


def test_a_licence_opens_what_is_made_of_the_files():
    closed = plugins.make("datasets", "folder", OPTIONS, "d")
    assert closed.licence == closed.citation == "the user's own"
    assert {closed.redistribution, closed.shares_features, closed.shares_models} == {False}
    terms = {"licence": "GPL-2", "citation": "Kendrick", "redistribution": True}
    opened = plugins.make("datasets", "folder", OPTIONS | terms, "d")
    assert (opened.licence, opened.citation) == ("GPL-2", "Kendrick")
    assert {opened.redistribution, opened.shares_features, opened.shares_models} == {True}
