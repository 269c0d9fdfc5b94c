from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.data.changes import Changes
from crossmodal.data.feature_file import Ragged, write_features
from crossmodal.data.prepared import Prepared
from crossmodal.data.split import Split, View, label_names, load_split
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError

# id, split, category, labels; splits and categories are mixed
ITEMS = [
    ("c", "train", "bird", ("bird", "sea")),
    ("a", "test", "dog", ("dog",)),
    ("e", "train", "dog", ("dog", "sea", "sun")),
    ("b", "validation", "bird", ("bird",)),
    ("d", "train", "", ()),
]
CAPTIONS = 2
TRAIN = ["c", "e", "d"]


@pytest.fixture
def toy(tmp_path):
    """A prepared dataset, and a way to write its features in any order of rows."""
    with Writer(tmp_path / "toy") as out:
        for id, split, category, labels in ITEMS:
            out.item(id, split, category, labels)
            for number in range(CAPTIONS):
                out.caption(f"{id}#{number}", id, "words")
    dataset = Prepared(tmp_path / "toy")
    captions = [(caption.id, caption.item) for caption in dataset.captions]
    rows = {"item": [(item.id, item.id) for item in dataset.items], "caption": captions}

    def write(name, unit, order=slice(None), ragged=False):
        """Features that tell which row they are: its place among all rows of its kind."""
        places = np.arange(len(rows[unit]))[order]
        values = np.repeat(places[:, None], 2, axis=1).astype(np.float32)
        if ragged:
            values = Ragged.concatenate([np.full(place + 1, place) for place in places])
        ids, items = zip(*(rows[unit][place] for place in places), strict=True)
        path = tmp_path / f"{name}.h5"
        write_features(path, list(ids), list(items), [values], {"of": name})
        return path

    return SimpleNamespace(dataset=dataset, rows=rows, write=write)


def test_a_split_has_its_items_in_the_order_of_the_dataset(toy):
    views = {"image": toy.write("image", "item"), "text": toy.write("text", "caption")}
    split = load_split(toy.dataset, views, "train", "category")
    assert split.items == TRAIN
    assert list(split.views) == ["image", "text"]
    assert split.views["text"].meta == {"of": "text"}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unit", ["item", "caption"])
def test_view_has_the_rows_of_its_split_in_any_file_order(toy, unit, seed):
    order = np.random.default_rng(seed).permutation(len(toy.rows[unit]))
    path = toy.write("view", unit, order)
    for name in ("train", "validation", "test"):
        split = load_split(toy.dataset, {"text": path}, name, "category")
        view = split.views["text"]
        expected = {id for id, item in toy.rows[unit] if item in split.items}
        assert set(view.ids) == expected
        assert len(view.ids) == len(view.items) == len(view.features) == len(expected)
        assert np.all(np.diff(view.items) >= 0)
        for row, id in enumerate(view.ids):
            owner = split.items[view.items[row]]
            assert (id, owner) in toy.rows[unit]
            assert view.features[row, 0] == toy.rows[unit].index((id, owner))


def test_rows_of_one_item_keep_the_order_of_the_file(toy):
    path = toy.write("view", "caption", order=slice(None, None, -1))
    ids = load_split(toy.dataset, {"text": path}, "train", "category").views["text"].ids
    assert ids == ["c#1", "c#0", "e#1", "e#0", "d#1", "d#0"]


def test_sequences_are_put_in_order_like_rows(toy):
    path = toy.write("view", "caption", order=slice(None, None, -1), ragged=True)
    view = load_split(toy.dataset, {"text": path}, "train", "category").views["text"]
    for row, id in enumerate(view.ids):
        place = [i for i, _ in toy.rows["caption"]].index(id)
        np.testing.assert_array_equal(view.features[row], np.full(place + 1, place))


def test_other_splits_may_lack_rows(toy):
    path = toy.write("view", "item", order=np.array([0, 2, 4]))
    assert load_split(toy.dataset, {"image": path}, "train", "category").items == TRAIN


def test_an_item_without_a_row_is_named_with_the_file(toy):
    path = toy.write("view", "item", order=np.array([0, 1, 3, 4]))
    with pytest.raises(CrossmodalError, match=r"view\.h5: item 'e' has no row"):
        load_split(toy.dataset, {"image": path}, "train", "category")


def test_an_empty_split_is_named(toy):
    path = toy.write("view", "item")
    with pytest.raises(CrossmodalError, match="split 'dev' has no items"):
        load_split(toy.dataset, {"image": path}, "dev", "category")


@pytest.mark.parametrize(
    ("protocol", "names", "labels"),
    [
        ("category", ["bird", "dog"], [[1, 0], [0, 1], [0, 0]]),
        ("labels", ["bird", "dog", "sea", "sun"], [[1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0]]),
    ],
)
def test_labels_follow_the_protocol(toy, protocol, names, labels):
    split = load_split(toy.dataset, {"image": toy.write("view", "item")}, "train", protocol)
    assert label_names(toy.dataset, protocol) == names
    np.testing.assert_array_equal(split.labels, np.array(labels, bool))


@pytest.mark.parametrize(
    ("protocol", "names"),
    [("category", ["bird", "dog"]), ("labels", ["bird", "dog", "sea", "sun"])],
)
def test_items_of_some_classes_keep_all_their_labels(tmp_path, protocol, names):
    with Writer(tmp_path / "more") as out:
        for id, split, category, labels in [*ITEMS, ("f", "train", "cat", ("cat", "sofa"))]:
            out.item(id, split, category, labels)
    path = tmp_path / "view.h5"
    write_features(path, list("caebdf"), list("caebdf"), [np.zeros((6, 2), np.float32)], {})
    dataset, changes = Prepared(tmp_path / "more"), {"classes": ["dog", "bird"]}
    split = load_split(dataset, {"image": path}, "train", protocol, Changes(**changes))
    assert (split.items, list(split.label_names)) == (["c", "e"], names)
    assert split.labels.sum() == (5 if protocol == "labels" else 2)
    assert label_names(dataset, protocol, ["cat"]) == (
        ["cat", "sofa"] if "sea" in names else ["cat"]
    )


def test_all_splits_count_the_same_labels(toy):
    path = toy.write("view", "item")
    validation = load_split(toy.dataset, {"image": path}, "validation", "labels")
    np.testing.assert_array_equal(validation.labels, [[True, False, False, False]])


def test_a_dataset_without_labels_has_none(tmp_path):
    with Writer(tmp_path) as out:
        out.item("a", "train")
    write_features(tmp_path / "view.h5", ["a"], ["a"], [np.ones((1, 2))], {})
    view = {"image": tmp_path / "view.h5"}
    assert load_split(Prepared(tmp_path), view, "train", "labels").labels.shape == (1, 0)


def test_vectors_are_the_features_of_a_view(rng):
    features = rng.standard_normal((3, 2))
    view = View(features, np.arange(3), ["0", "1", "2"], {})
    np.testing.assert_array_equal(view.vectors(), features)


def test_sequences_are_no_vectors():
    sequences = Ragged.concatenate([np.zeros((4, 2)), np.zeros((1, 2))])
    view = View(sequences, np.arange(2), ["first", "second"], {})
    with pytest.raises(CrossmodalError, match="'first' is a sequence of 4 steps"):
        view.vectors()


def test_a_method_of_two_views_refuses_a_third():
    split = make_split(image=1, text=5)
    assert split.two_views() is split.views
    with pytest.raises(CrossmodalError, match="needs two views, but has image, text, speech"):
        make_split(image=1, text=5, speech=5).two_views()


def make_split(**rows_per_item):
    """A split of three items whose views have the given numbers of rows per item."""
    views = {}
    for modality, counts in rows_per_item.items():
        owners = np.repeat(np.arange(3), counts)
        ids = [f"{owner}#{number}" for number, owner in enumerate(owners)]
        views[modality] = View(np.zeros((len(owners), 1)), owners, ids, {})
    return Split(["0", "1", "2"], np.zeros((3, 0), bool), views)


def test_views_of_items_are_paired_one_to_one():
    items, rows = make_split(image=1, text=1).pairs()
    for found in (items, rows["image"], rows["text"]):
        np.testing.assert_array_equal(found, [0, 1, 2])


@pytest.mark.parametrize("counts", [5, [2, 1, 3]])
def test_an_item_is_repeated_for_each_of_its_captions(counts):
    items, rows = make_split(image=1, text=counts).pairs()
    owners = np.repeat([0, 1, 2], counts)
    np.testing.assert_array_equal(items, owners)
    np.testing.assert_array_equal(rows["image"], owners)
    np.testing.assert_array_equal(rows["text"], np.arange(len(owners)))


def test_captions_read_and_spoken_are_paired_caption_by_caption():
    items, rows = make_split(image=1, text=5, speech=5).pairs()
    np.testing.assert_array_equal(items, np.repeat([0, 1, 2], 5))
    np.testing.assert_array_equal(rows["image"], items)
    np.testing.assert_array_equal(rows["text"], np.arange(15))
    np.testing.assert_array_equal(rows["speech"], np.arange(15))


@pytest.mark.parametrize("counts", [3, [4, 5, 6]])
def test_other_captions_in_two_views_are_refused(counts):
    with pytest.raises(CrossmodalError, match="view 'speech': its rows are other captions"):
        make_split(image=1, text=5, speech=counts).pairs()


def test_all_rows_are_taken_without_a_copy_and_others_with_one():
    view = View(np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(4), list("abcd"), {})
    assert view.taken(np.arange(4)) is view.features
    for rows in ([0, 1, 2], [0, 0, 1, 2], [3, 2, 1, 0]):
        np.testing.assert_array_equal(view.taken(np.array(rows)), view.features[rows])
    doubles = View(view.features.astype(np.float64), view.items, view.ids, {})
    assert doubles.taken(np.arange(4)).dtype == np.float32


@pytest.mark.parametrize(
    ("rows", "constant"),
    [
        ([[1, 2]], False),
        ([[1, 2], [1, 2]], True),
        ([[1, 2], [1, 2], [1, 3]], False),
        (Ragged.concatenate([np.array([1, 2])] * 3), True),
        (Ragged.concatenate([np.array([1, 2]), np.array([1])]), False),
    ],
)
def test_a_view_is_constant_if_its_rows_are_equal(rows, constant):
    rows = rows if isinstance(rows, Ragged) else np.array(rows)
    assert View(rows, np.arange(len(rows)), [], {}).is_constant() == constant
