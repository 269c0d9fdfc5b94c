"""With each kind of model, what is found is what the model's score says of all items."""

import os
import shutil
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import crossmodal
from crossmodal.data.feature_file import write_features
from crossmodal.data.feature_reader import read_features
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_json, write_json
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.search.place import Place, params
from crossmodal.search.searcher import Searcher
from tests.test_load import ARGUMENTS, MODELS, contents, make_studio

NAMES = ("cca", "cca_published", "cmolrs", "order", "sima")
WEIGHTS = Path("data/raw/weights")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    yield from make_studio(
        tmp_path_factory.mktemp("studio"), {name: MODELS[name] for name in NAMES}
    )


@pytest.fixture
def project(studio, tmp_path, monkeypatch):
    """The studio's files where the workflow puts them; makes searchers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    shutil.copytree(studio.root / "weights", WEIGHTS)
    shutil.copytree(studio.root / "prepared", "data/prepared/toy")
    shutil.copytree(studio.features, "features/toy")
    experiments = {
        name: SimpleNamespace(dataset="toy", views=MODELS[name][1], changes=None) for name in NAMES
    }
    overlay = {"mine": experiments["cca"]}
    read = lambda _, *more: SimpleNamespace(experiments=overlay if more else experiments)  # noqa: E731
    monkeypatch.setattr("crossmodal.search.place.params.read", read)

    def search(name, folder=None, split="test"):
        model = Path("models", name, "seed0")
        if not model.exists():
            shutil.copytree(studio.root / "models" / name, model)
        return Searcher(model, WEIGHTS, Place(folder, split, Path("params.yaml")))

    return search


CASES = [
    (name, query)
    for name in NAMES
    for query in islice(MODELS[name][1], 2)
    if MODELS[name][1][query] != "matrix"
]


@pytest.mark.parametrize(("name", "query"), CASES)
def test_the_test_split_is_searched_by_each_modality(studio, project, name, query):
    searcher, embedded = project(name), read_embeddings(studio.root / f"{name}.h5")
    content = contents(studio, query, embedded.ids[query][:1])[0]
    row = searcher.model.embed(**{ARGUMENTS[query]: [content]})
    for target in searcher.targets(query):
        found = searcher.search(query, content, among=target, count=4)
        gallery = embedded.splits["test"][target].embeddings
        scores = searcher.model.score(row, gallery, (query, target))[0]
        assert [item.rank for item in found] == [1, 2, 3, 4]
        np.testing.assert_allclose([i.score for i in found], np.sort(-scores)[:4] * -1, rtol=1e-4)
        by_id = dict(zip(embedded.ids[target], scores, strict=True))
        np.testing.assert_allclose(
            [i.score for i in found], [by_id[i.id] for i in found], rtol=1e-4
        )
        for item in found:
            assert [item.text] == [
                " · ".join(c.text for c in studio.dataset.captions if item.id in (c.id, c.item))
            ]
            assert item.labels[0].startswith("category")


def test_z_scores_of_all_items(project):
    results = project("cca").search("text", "a red circle", count=99)
    scores = np.array([result.score for result in results])
    expected = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose([r.z_score for r in results], expected, rtol=1e-3, atol=1e-4)
    assert project("order").search("text", "a red circle")[0].z_score is not None


def test_common_words_of_query_and_text(project):
    query = "a red circle of zebras"
    results = project("cca").search("text", query, among="text", count=99)
    for result in results:
        assert set(result.common) == {"a", "red", "circle", "of"} & set(result.text.split())
    assert any(result.common for result in results)
    assert not project("cca").search("image", contents_of(project, "cca"))[0].common


def contents_of(project, name):
    """The picture of an item."""
    gallery = project(name).gallery("image")
    return gallery.media(project(name).sample("image", 1)[0][0].id)


@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("name", ["cca", "order", "sima"])
def test_an_item_is_searched_by_like_its_content(project, stored, name, is_stored):
    if is_stored:
        stored(name)
    searcher = project(name)
    item = searcher.sample("image", 3)[0][1].id
    by_content = searcher.search("image", searcher.gallery("image").media(item), count=5)
    by_item = searcher.search_like("image", item, count=5)
    assert [result.id for result in by_item] == [result.id for result in by_content]


@pytest.mark.parametrize("name", ["cca", "order"])
def test_a_row_of_features_is_searched_by_like_its_item(studio, project, name):
    searcher, feature = project(name), MODELS[name][1]["image"]
    item = searcher.sample("image", 3)[0][1].id
    content = read_features(studio.features / f"{feature}.h5")
    row = content.vectors()[content.ids.index(item)][None]
    assert searcher.search_by_row("image", row) == searcher.search_like("image", item)
    with pytest.raises(CrossmodalError, match=r"features of shape \(1, 1\) and type float64"):
        searcher.search_by_row("image", np.zeros((1, 1)))
    assert [searcher.other_than(m) for m in (None, "text", "image")] == ["image", "image", "text"]


def test_an_item_is_not_like_itself(project):
    searcher = project("cca")
    item = searcher.sample("image", 1)[0][0].id
    alike = searcher.search_like("image", item, among="image", count=99)
    assert item not in {result.id for result in alike}
    assert len(alike) == searcher.sample("image", 1)[1] - 1


@pytest.mark.parametrize("is_stored", [True, False])
def test_search_by_an_unknown_item_is_refused(project, stored, is_stored):
    if is_stored:
        stored("cca")
    with pytest.raises(CrossmodalError, match=r"toy, test: .*has no image"):
        project("cca").search_like("image", "../x")


def test_an_item_that_has_captions_is_asked_for_one(project):
    caption = project("order").sample("text", 1)[0][0].id
    item = caption.partition("#")[0]
    with pytest.raises(CrossmodalError, match=f"no text '{item}'; name an item of it, as '{item}#"):
        project("order").search_like("text", item)


def test_an_unknown_split_is_refused_with_those_known(project):
    with pytest.raises(CrossmodalError, match="--split: 'tests' is unknown; known: test, train"):
        project("cca", split="tests").search("text", "a red circle")


def test_sample_from_all_over_a_gallery(project):
    items, total = project("cca").sample("text", 3)
    assert total == len(project("cca").search("image", contents_of(project, "cca"), count=999))
    assert len({item.id for item in items}) == 3
    assert all(item.text and item.labels for item in items)


def test_training_items_are_searched(project):
    searcher = project("cca").training
    results = searcher.search("text", "a red circle", among="image", count=99)
    assert {result.id for result in results} == {f"item{n}" for n in range(12)}


@pytest.mark.parametrize(("name", "by_image"), [("cca", ("image",)), ("order", ())])
def test_a_folder_of_pictures_alone_is_searched(studio, project, tmp_path, name, by_image):
    folder, pictures = tmp_path / "photos", contents(studio, "image", ["item0", "item1"])
    folder.mkdir()
    for number, picture in enumerate(pictures):
        (folder / f"{number}.png").write_bytes(picture)
    searcher = project(name, folder)
    searcher.prepare()
    assert searcher.held == ("image",)
    assert searcher.held_targets("image") == by_image
    assert searcher.held_targets("text") == ("image",)
    assert {r.id for r in searcher.search("text", "a red circle")} == {"0.png", "1.png"}
    if by_image:
        assert searcher.search("image", pictures[1], count=1)[0].id == "1.png"
    assert searcher.training.search("image", pictures[0], among="text", count=1)[0].text


def test_a_folder_without_items_is_refused(project, tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(CrossmodalError, match="photos: no image is here; looked for"):
        project("cca", tmp_path / "photos").prepare()


def test_training_pairs_are_counted(project, tmp_path):
    place = Place(tmp_path, "test", Path("params.yaml"))
    assert place.training_pairs("cca/seed0") == 24
    assert place.training_pairs("other/seed0") is None


@pytest.fixture
def stored(studio, project):
    """Write the embedding file of a model's run."""

    def write(name):
        path = Path("embeddings", name, "seed0.h5")
        path.parent.mkdir(parents=True)
        return Path(shutil.copy2(studio.root / f"{name}.h5", path))

    return write


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize(("name", "query"), CASES)
def test_results_from_embedding_file_equal(
    studio, project, stored, monkeypatch, name, query, split
):
    (content,) = contents(studio, query, read_embeddings(studio.root / f"{name}.h5").ids[query][:1])
    results = project(name, split=split).search(query, content, count=99)
    shutil.rmtree(".search")
    stored(name)
    monkeypatch.setattr("crossmodal.models.model.Model.embed_features", None)
    assert project(name, split=split).search(query, content, count=99) == results
    assert not Path(".search").exists()


def extract_again(embeddings):
    for path in Path("features/toy").iterdir():
        os.utime(path, (time := embeddings.stat().st_mtime + 1, time))


def train_again(embeddings):
    path = Path("models/cca/seed0/model.json")
    content = read_json(path)
    write_json(path, content | {"fit": content["fit"] | {"fit_seconds": 9.0}})


def change_categories(embeddings):
    experiments = params.read(Path("params.yaml")).experiments
    experiments["cca"].changes = {"classes": ["category0", "category1"]}


@pytest.mark.parametrize("change", [extract_again, train_again, change_categories])
def test_outdated_embedding_file_not_read(project, stored, monkeypatch, change):
    project("cca")
    embeddings = stored("cca")
    embeddings.write_bytes(embeddings.read_bytes())  # newer than its inputs
    change(embeddings)
    monkeypatch.setattr("crossmodal.search.gallery.read_embedded_rows", None)
    assert project("cca").search("text", "a red circle")
    assert [*Path(".search").iterdir()]


def test_search_without_features(project, stored):
    results = project("cca").search("text", "a red circle")
    stored("cca")
    shutil.rmtree("features")
    assert project("cca").search("text", "a red circle") == results


def test_approximate_search_of_embedding_file(project, stored):
    pytest.importorskip("faiss")
    stored("cca")
    exact, near = (
        project("cca").search("text", "a red circle", count=3, approximate=approximate)
        for approximate in (False, True)
    )
    assert [result.id for result in near] == [result.id for result in exact]
    assert [path.name for path in Path(".search").rglob("*.*")] == ["cells.faiss"]


def test_methods_of_categories_search_within_a_modality(project):
    assert project("cca").targets("image") == ("text", "image")
    assert project("order").targets("image") == ("text",)
    assert project("order").targets("speech") == ()


def test_media_of_what_was_found(studio, project):
    gallery = project("sima").gallery("image")
    found = project("sima").search("speech", contents(studio, "speech", ["item0#0"])[0], count=1)
    assert gallery.media(found[0].id) == contents(studio, "image", [found[0].id])[0]
    gallery = project("sima").gallery("speech")
    assert gallery.media("item0#1") == contents(studio, "speech", ["item0#1"])[0]


def test_a_folder_is_searched(studio, project, tmp_path):
    folder = tmp_path / "holiday"
    folder.mkdir()
    images = contents(studio, "image", ["item0", "item1", "item2"])
    for number, image in enumerate(images):
        (folder / f"{number}.png").write_bytes(image)
    found = project("cca", folder).search("text", "a red circle")
    model = crossmodal.load("models/cca/seed0")
    scores = model.score(
        model.embed(texts=["a red circle"]), model.embed(images=images), ("text", "image")
    )[0]
    assert [item.id for item in found] == [f"{row}.png" for row in np.argsort(-scores)]
    np.testing.assert_allclose([item.score for item in found], -np.sort(-scores), rtol=1e-4)


@pytest.mark.parametrize("name", ["cca", "cmolrs", "order"])
@pytest.mark.parametrize("query", ["zebra", "红色圆形", "123", "?!"])
def test_a_query_without_a_known_word_has_no_answer(project, name, query):
    with pytest.raises(CrossmodalError, match=r"knows no word of .*`crossmodal words /.*/seed0`"):
        project(name).search("text", query)


def test_a_long_query_is_cut_in_a_message(project):
    with pytest.raises(CrossmodalError, match=r"knows no word of 'zebra zebra .* \.\.\.'") as error:
        project("cca").search("text", "zebra " * 10_000)
    assert len(str(error.value)) < 1_000


def test_an_item_that_the_dataset_lost_is_named(project):
    project("cca").search("text", "a red circle")  # its index holds the item
    table = Path("data/prepared/toy/items.csv")
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(line for line in lines if not line.startswith('"item23"')))
    with pytest.raises(CrossmodalError, match=r"toy/items\.csv: 'item23' is missing, which .*h5"):
        project("cca").search("text", "a red circle", count=99)


@pytest.mark.parametrize("name", ["cca", "order"])
def test_unknown_words_of_a_query_are_named(project, name):
    searcher = project(name)
    query = "a red Zebra's zèbre."
    assert searcher.search("text", query)
    assert not {"a", "red", "."} & {*searcher.unknown_words("text", query)}
    assert "zèbre" in searcher.unknown_words("text", query)
    assert searcher.unknown_words("image", b"") == []


def test_other_splits_have_their_own_items(studio, project):
    found = project("cca", split="validation").search("text", "a red circle", count=99)
    assert sorted(item.id for item in found) == sorted(f"item{n}" for n in range(12, 18))


@pytest.mark.parametrize(
    ("name", "query", "among", "message"),
    [
        ("cca", "speech", None, "cannot search anything by speech"),
        ("order", "image", "image", "cannot search image by image"),
        ("cca", "image", "speech", "compares image and text"),
    ],
)
def test_what_the_model_does_not_compare_is_refused(project, name, query, among, message):
    with pytest.raises(CrossmodalError, match=message):
        project(name).search(query, "content", among=among)


def test_features_of_another_extraction_are_refused(project):
    path = Path("features/toy/fne.h5")
    found = read_features(path)
    write_features(path, found.ids, found.items, [found.features], found.meta | {"other": 1})
    with pytest.raises(CrossmodalError, match="differs from that of the model"):
        project("cca").search("text", "a red circle")


def test_a_model_of_no_experiment_needs_a_folder(project, studio):
    shutil.copytree(studio.root / "models/cca", "elsewhere/mine")
    searcher = Searcher(Path("elsewhere/mine"), WEIGHTS, Place(None, "test", Path("params.yaml")))
    with pytest.raises(CrossmodalError, match="or a folder with --in"):
        searcher.search("text", "a red circle")


def test_the_experiment_of_an_overlay_says_what_is_searched(project, studio):
    shutil.copytree(studio.root / "models/cca", "models/mine/seed0")
    place = Place(None, "test", Path("params.yaml"), [Path("holiday.yaml")])
    searcher = Searcher(Path("models/mine/seed0"), WEIGHTS, place)
    found = searcher.search("text", "a red circle")
    assert found == project("cca").search("text", "a red circle")
