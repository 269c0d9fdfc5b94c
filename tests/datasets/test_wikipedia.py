import os
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.split import Split, View, load_split
from crossmodal.data.writer import Writer
from crossmodal.datasets import wikipedia
from crossmodal.datasets.wikipedia import Wikipedia
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import pools
from crossmodal.metrics.retrieval import evaluate
from crossmodal.steps.extract import extract
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import ExtractSpec, PrepareSpec
from tests.datasets import layouts
from tests.datasets.layouts import wikipedia as layout

CATEGORIES = ["art", "biology", "geography"]
TRAIN, TEST = 7, 4
LISTS = {"tr": "trainset_txt_img_cat.list", "te": "testset_txt_img_cat.list"}


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """The published files in small, in the official layout."""
    monkeypatch.setattr(wikipedia, "COUNTS", {"train": TRAIN, "test": TEST})
    (tmp_path / "raw").mkdir()
    write_files(tmp_path / "raw")
    return tmp_path / "raw"


def category_of(part, row):
    return (row + (part == "te")) % len(CATEGORIES)


def write_files(raw):
    (raw / "categories.list").write_text("\n".join([*CATEGORIES, "", ""]))
    matrices = {}
    for part, count in (("tr", TRAIN), ("te", TEST)):
        lines = [
            f"text{part}{r}-2.1\timage{part}{r}\t{category_of(part, r) + 1}" for r in range(count)
        ]
        (raw / LISTS[part]).write_text("\n".join(lines) + "\n")
        # a row tells its part and its place
        places = np.arange(count)[:, None] + (100 if part == "te" else 0)
        matrices[f"I_{part}"] = places + np.linspace(0, 0.5, 128)
        matrices[f"T_{part}"] = -places - np.linspace(0, 0.5, 10)
    scipy.io.savemat(raw / "raw_features.mat", matrices)


def run(raw, tmp_path, validation=2, seed=0, protocol="cmolrs"):
    dataset = Wikipedia(protocol=protocol, validation=validation, seed=seed, media=False)
    with Writer(tmp_path / "prepared") as out:
        dataset.prepare(raw, out)
        out.check(dataset.counts())
    return Prepared(tmp_path / "prepared")


def test_items_are_the_images_of_both_parts_with_their_category(raw, tmp_path):
    dataset = run(raw, tmp_path)
    ids = [f"imagetr{r}" for r in range(TRAIN)] + [f"imagete{r}" for r in range(TEST)]
    assert [item.id for item in dataset.items] == ids
    expected = [CATEGORIES[category_of("tr", r)] for r in range(TRAIN)]
    expected += [CATEGORIES[category_of("te", r)] for r in range(TEST)]
    assert [item.category for item in dataset.items] == expected
    assert [item.labels for item in dataset.items] == [(category,) for category in expected]


def test_validation_is_from_training_and_all_test_items_stay(raw, tmp_path):
    dataset = run(raw, tmp_path)
    by_split = {s: {i.id for i in dataset.split(s)} for s in ("train", "validation", "test")}
    assert {split: len(ids) for split, ids in by_split.items()} == {
        "train": TRAIN - 2,
        "validation": 2,
        "test": TEST,
    }
    assert all(id.startswith("imagetr") for id in by_split["train"] | by_split["validation"])
    assert all(id.startswith("imagete") for id in by_split["test"])


def test_the_draw_follows_the_seed_alone(raw, tmp_path):
    splits = [run(raw, tmp_path, seed=seed).splits for seed in (0, 0, *range(1, 9))]
    assert splits[0] == splits[1]
    assert any(other != splits[0] for other in splits[2:])


def test_sam_validation_is_the_published_test_part(raw, tmp_path, monkeypatch):
    monkeypatch.setattr(wikipedia, "SAM_VALIDATION", "0 3")
    dataset = run(raw, tmp_path, protocol="sam")
    assert [item.id for item in dataset.split("validation")] == ["imagete0", "imagete3"]
    assert [item.id for item in dataset.split("test")] == ["imagete1", "imagete2"]
    assert [item.id for item in dataset.split("train")] == [f"imagetr{r}" for r in range(TRAIN)]


def test_validation_of_sam_has_its_published_size():
    options = {"protocol": "sam", "validation": 230, "seed": 0, "media": False}
    with pytest.raises(CrossmodalError, match="'sam' has 231"):
        plugins.make("datasets", "wikipedia", options, "wikipedia")


def test_features_stay_with_their_items(raw, tmp_path):
    dataset = run(raw, tmp_path)
    places = [*range(TRAIN), *range(100, 100 + TEST)]
    sift, lda = dataset.published("sift"), dataset.published("lda")
    assert (sift.shape, lda.shape) == ((TRAIN + TEST, 128), (TRAIN + TEST, 10))
    np.testing.assert_array_equal(sift[:, 0], places)
    np.testing.assert_array_equal(lda[:, 0], np.negative(places))
    assert sift.dtype == lda.dtype == np.float32


@pytest.mark.parametrize(
    "line", ["", "text image 1", "text\timage", "text\timage\t4", "text\timage\t0", "t\ti\tart"]
)
def test_a_wrong_line_is_named_with_its_number(raw, tmp_path, line, failure):
    path = raw / LISTS["te"]
    lines = path.read_text().splitlines()
    lines[2] = line
    path.write_text("\n".join(lines) + "\n")
    found = failure(run, raw, tmp_path)
    for fragment in (str(path), "line 3", repr(line), "1..3"):
        assert fragment in found


def test_an_item_that_is_listed_twice_is_named(raw, tmp_path, failure):
    path = raw / LISTS["te"]
    path.write_text(path.read_text().replace("imagete3", "imagetr0"))
    assert "'imagetr0'" in failure(run, raw, tmp_path)


def test_a_truncated_list_is_refused(raw, tmp_path, failure):
    path = raw / LISTS["te"]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert "3 items in split 'test', but the dataset declares 4" in failure(run, raw, tmp_path)


@pytest.mark.parametrize("name", ["categories.list", *LISTS.values(), "raw_features.mat"])
def test_a_missing_file_is_named(raw, tmp_path, name, failure):
    (raw / name).unlink()
    assert name in failure(run, raw, tmp_path)


@pytest.mark.parametrize("damage", ["empty", "page", "cut"])
def test_a_corrupt_feature_file_is_named(raw, tmp_path, damage, failure):
    path = raw / "raw_features.mat"
    whole = path.read_bytes()
    contents = {"empty": b"", "page": b"<html>no such page</html>" * 9, "cut": whole[:900]}
    path.write_bytes(contents[damage])
    assert str(path) in failure(run, raw, tmp_path)


@pytest.mark.parametrize(
    "changes", [{"I_te": None}, {"T_tr": np.ones((TRAIN - 1, 10))}, {"I_te": np.ones((TEST, 9))}]
)
def test_feature_matrices_of_another_shape_are_named(raw, tmp_path, changes, failure):
    path = raw / "raw_features.mat"
    matrices = {k: v for k, v in scipy.io.loadmat(path).items() if k[0] != "_"} | changes
    scipy.io.savemat(path, {k: v for k, v in matrices.items() if v is not None})
    found = failure(run, raw, tmp_path)
    assert str(path) in found
    assert next(iter(changes)) in found


ARCHIVE = "wikipedia_dataset.zip"
MEDIA = layout.DATASETS["wikipedia_media"]


def test_items_with_media_have_photograph_and_article(small):
    wikipedia = small("wikipedia")
    dataset = wikipedia.prepare(**MEDIA)
    members = layouts.members(wikipedia.raw / ARCHIVE)
    sizes = [len(dataset.split(split)) for split in ("train", "validation", "test")]
    assert sizes == [150, 20, 40]
    for item, caption in zip(dataset.items, dataset.captions, strict=True):
        path = f"wikipedia_dataset/images/{item.category}/{item.id}.jpg"
        assert dataset.read(item.image) == members[path]
        text = members[f"wikipedia_dataset/texts/{item.id.replace('image', 'text')}-2.1.xml"]
        lines = text.decode().split("<text>\n")[1].split("\n</text>")[0]
        assert caption.text == lines.replace("\n", " ").replace("&amp;", "&")
        assert caption.item == item.id
    assert dataset.published("sift").shape == (210, 128)


def test_without_media_the_archive_is_not_needed(small):
    wikipedia = small("wikipedia")
    (wikipedia.raw / ARCHIVE).unlink()
    assert wikipedia.prepare(**MEDIA | {"media": False}).captions == []
    entry = plugins.make("datasets", "wikipedia", MEDIA | {"media": False}, "wikipedia")
    assert ARCHIVE not in [source.file for source in entry.sources]
    entry = plugins.make("datasets", "wikipedia", MEDIA, "wikipedia")
    assert ARCHIVE in [source.file for source in entry.sources]


@pytest.mark.parametrize("damage", ["photograph", "article", "text", "archive"])
def test_what_the_archive_lacks_is_named(small, failure, damage):
    wikipedia = small("wikipedia")
    path, article = wikipedia.raw / ARCHIVE, "wikipedia_dataset/texts/texttr7-2.1.xml"

    def change(members):
        if damage == "text":
            members[article] = b"<article>no such page</article>"
        else:
            name = next(m for m in members if m.endswith("/imagetr7.jpg"))
            del members[name if damage == "photograph" else article]

    if damage == "archive":
        path.unlink()
    else:
        layouts.repack(path, change)
    named = {"photograph": "imagetr7.jpg", "archive": ARCHIVE}.get(damage, "texttr7-2.1.xml")
    assert named in failure(wikipedia.prepare, **MEDIA)


STRONG = layout.DATASETS["wikipedia_strong"]


def test_stronger_features_stand_beside_the_published_ones(small):
    wikipedia = small("wikipedia")
    dataset = wikipedia.prepare(**STRONG)
    published = scipy.io.loadmat(wikipedia.raw / "cnn_wordvec.mat")
    for name, letter in (("cnn", "I"), ("word_vectors", "T")):
        expected = np.concatenate([published[f"{letter}_tr"], published[f"{letter}_te"]])
        np.testing.assert_array_equal(dataset.published(name), expected.astype(np.float32))
    assert dataset.published("sift").shape == (210, 128)


def test_stronger_features_are_needed_only_where_asked_for(small, failure):
    wikipedia = small("wikipedia")
    (wikipedia.raw / "cnn_wordvec.mat").unlink()
    assert len(wikipedia.prepare(**STRONG | {"strong": False}).items) == 210
    shutil.rmtree(wikipedia.raw.parent / "prepared")
    (wikipedia.raw.parent / "prepared").mkdir()
    assert "cnn_wordvec.mat" in failure(wikipedia.prepare, **STRONG)
    for strong in (False, True):
        entry = plugins.make("datasets", "wikipedia", STRONG | {"strong": strong}, "wikipedia")
        assert ("cnn_wordvec.mat" in [source.file for source in entry.sources]) == strong


@pytest.mark.parametrize("validation", [0, 2173])
def test_validation_leaves_something_to_train_on(validation):
    with pytest.raises(CrossmodalError, match=r"wikipedia\.validation"):
        plugins.make(
            "datasets",
            "wikipedia",
            {"protocol": "cmolrs", "validation": validation, "seed": 0, "media": False},
            "wikipedia",
        )


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The real dataset, prepared, with its published features extracted."""
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "wikipedia"
    if not raw.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no wikipedia")
    home = tmp_path_factory.mktemp("wikipedia")
    prepare(
        PrepareSpec(
            plugin="wikipedia",
            options={"protocol": "cmolrs", "validation": 231, "seed": 0, "media": False},
        ),
        raw,
        home / "wikipedia",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for name, modality in (("sift", "image"), ("lda", "text")):
            options = {"matrix": name, "modality": modality}
            spec = ExtractSpec(plugin="published", options=options)
            extract(spec, Path(f"{name}.h5"), home / "wikipedia", home, home)
    return home


@pytest.mark.real
def test_the_real_dataset_has_the_published_sizes(real):
    dataset = Prepared(real / "wikipedia")
    sizes = [len(dataset.split(split)) for split in ("train", "validation", "test")]
    assert sizes == [1942, 231, 693]
    assert len({item.category for item in dataset.items}) == 10
    for name, width in (("sift", 128), ("lda", 10)):
        assert dataset.published(name).shape == (2866, width)


@pytest.mark.real
def test_sam_splits_have_published_sizes_and_categories(tmp_path):
    raw = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "wikipedia"
    if not raw.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no wikipedia")
    dataset = run(raw, tmp_path, 231, protocol="sam")
    names = (raw / "categories.list").read_text().split("\n")[:10]
    found = {}
    for split in ("train", "validation", "test"):
        counts = Counter(item.category for item in dataset.split(split))
        found[split] = [counts[name] for name in names]
    assert sum(found["train"]) == 2173
    assert found["validation"] == [9, 28, 33, 27, 25, 19, 17, 12, 28, 33]
    assert found["test"] == [25, 60, 63, 58, 40, 39, 34, 29, 43, 71]


@pytest.mark.real
def test_real_stronger_features_are_decorrelated_over_all_items(tmp_path):
    """So the PCA was fitted on all items, those of the test part too."""
    mirror = Path(os.environ.get("CROSSMODAL_MIRROR", "none"))
    if not (mirror / "wikipedia_strong").is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no wikipedia_strong")
    raw = tmp_path / "raw"
    shutil.copytree(mirror / "wikipedia", raw)
    shutil.copy(mirror / "wikipedia_strong" / "cnn_wordvec.mat", raw)
    options = {"protocol": "cmolrs", "validation": 231, "seed": 0, "strong": True}
    prepare(PrepareSpec(plugin="wikipedia", options=options), raw, tmp_path / "wikipedia")
    dataset = Prepared(tmp_path / "wikipedia")
    cnn, words = dataset.published("cnn"), dataset.published("word_vectors")
    assert (cnn.shape, words.shape) == ((2866, 128), (2866, 100))
    assert np.abs(cnn.mean(0)).max() < 1e-4
    assert np.abs(np.corrcoef(cnn.T) - np.eye(128)).max() < 1e-4
    train = cnn[[i for i, item in enumerate(dataset.items) if dataset.splits[item.id] != "test"]]
    assert np.abs(train.mean(0)).max() > 0.1


def joined(first, second):
    """Both splits as one."""
    views = {}
    for modality, view in first.views.items():
        other = second.views[modality]
        features = np.concatenate([view.features, other.features])
        items = np.concatenate([view.items, other.items + len(first.items)])
        views[modality] = View(features, items, view.ids + other.ids, view.meta)
    labels = np.concatenate([first.labels, second.labels])
    return Split(first.items + second.items, labels, views)


@pytest.mark.real
def test_cca_reaches_the_reference_on_the_real_dataset(real):
    """Reference run: k = 7, no ridge, all 2,173 training items, 693 test items, mAP@all."""
    dataset, views = (
        Prepared(real / "wikipedia"),
        {"image": real / "sift.h5", "text": real / "lda.h5"},
    )
    train, validation, test = (
        load_split(dataset, views, split, "category") for split in ("train", "validation", "test")
    )
    method = plugins.make("methods", "cca", {"dims": 7, "ridge": 0.0, "power": 0.0}, "cca")
    method.fit(joined(train, validation), validation, Run(seed=0))
    found = pools(method, test)
    reached = [
        evaluate(found[query], found[gallery])["mAP"]
        for query, gallery in (("image", "text"), ("text", "image"))
    ]
    assert reached == pytest.approx([0.246, 0.201], abs=0.002)
