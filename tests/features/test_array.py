import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.array import Array
from crossmodal.steps.extract import extract
from crossmodal.workflow.specs import ExtractSpec

ITEMS = ["dog", "sea", "cat", "sun"]
SPLITS = ["train", "test", "train", "validation"]
CAPTIONS = [f"{id}#{n}" for id in ITEMS for n in range(1 + (id == "sea"))]
ROWS = np.random.default_rng(0).normal(size=(4, 3))


@pytest.fixture(autouse=True)
def dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Writer(tmp_path / "prepared") as out:
        for id, split in zip(ITEMS, SPLITS, strict=True):
            out.item(id, split)
        for caption in CAPTIONS:
            out.caption(caption, caption.partition("#")[0], tags=True)
    return Prepared("prepared")


def save(rows=ROWS, ids=ITEMS, name="rows"):
    np.save(f"{name}.npy", rows)
    with open(f"{name}.csv", "w", encoding="utf-8") as stream:
        stream.writelines(f"{id}\n" for id in ["id", *ids])


def extracted(dataset, file="rows.npy", ids="rows.csv", **options):
    feature = Array(file=file, ids=ids, modality="image", **options)
    feature.fit(dataset, {})
    return feature.extract(dataset, feature.rows(dataset), {})


def refusal(dataset, *arguments, **options):
    with pytest.raises(CrossmodalError) as caught:
        extracted(dataset, *arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "uint8"])
def test_rows_find_their_items_by_id(dataset, dtype):
    order, rows = [2, 0, 3, 1], (100 * abs(ROWS)).astype(dtype)
    save(rows[order], [ITEMS[n] for n in order])
    found = extracted(dataset)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows.astype(np.float32))


def test_rows_are_in_order_where_that_is_said(dataset):
    save()
    np.testing.assert_array_equal(extracted(dataset, ids="order"), ROWS.astype(np.float32))
    with pytest.raises(ValueError, match="ids"):
        Array(file="rows.npy", modality="image")


def test_ids_may_lie_in_the_file_itself(dataset):
    np.savez("rows.npz", rows=ROWS[::-1], name=np.array(ITEMS[::-1]))
    found = extracted(dataset, "rows.npz", "name")
    np.testing.assert_array_equal(found, ROWS.astype(np.float32))


@pytest.mark.parametrize("ids", [CAPTIONS, [c.partition("#")[0] for c in CAPTIONS]])
def test_rows_of_captions_have_their_ids_or_those_of_items(dataset, ids):
    rows, order = np.arange(10.0).reshape(5, 2), [4, 1, 0, 3, 2]
    if ids == CAPTIONS:
        save(rows[order], [ids[n] for n in order])
    else:  # the captions of an item in their order
        order = [4, 1, 2, 0, 3]
        save(rows[order], [ids[n] for n in order])
    np.testing.assert_array_equal(extracted(dataset, unit="caption"), rows.astype(np.float32))


def test_each_split_may_have_a_file(dataset):
    files, ids = {}, {}
    for split in ("train", "validation", "test"):
        chosen = [n for n, of in enumerate(SPLITS) if of == split]
        save(ROWS[chosen], [ITEMS[n] for n in chosen], split)
        files[split], ids[split] = f"{split}.npy", f"{split}.csv"
    for given in (ids, "order"):
        np.testing.assert_array_equal(extracted(dataset, files, given), ROWS.astype(np.float32))
    np.save("test.npy", ROWS[:1, :2])
    assert refusal(dataset, files, ids) == (
        "test.npy: has 2 columns, but train.npy has 3; give all splits the same"
    )
    del files["test"]
    assert "there is no file for the items of split 'test'" in refusal(dataset, files, "order")
    with pytest.raises(ValueError, match="names other splits"):
        Array(file=files, ids=ids, modality="image")


def test_files_of_no_split_are_refused():
    options = {"file": {}, "ids": {}, "modality": "image"}
    with pytest.raises(CrossmodalError, match=r"x\.file\..*at least 1 item"):
        plugins.make("features", "array", options, "x")


def test_ids_of_another_split_are_refused(dataset):
    save(ROWS[:1], ["dog"], "test")
    save(ROWS, ITEMS, "others")
    files = {"train": "others.npy", "validation": "others.npy", "test": "test.npy"}
    ids = {split: file.replace("npy", "csv") for split, file in files.items()}
    assert "row 1: the id 'sea' is not of the items of prepared, split 'train'" in refusal(
        dataset, files, ids
    )


@pytest.mark.parametrize(
    ("rows", "ids", "message"),
    [
        (ROWS[:3], ITEMS, "rows.csv: has 4 ids, but rows.npy has 3 rows"),
        (ROWS[:3], ITEMS[:3], "rows.csv: has no row for 'sun' of the items of prepared"),
        (ROWS, [*ITEMS[:3], "moon"], "rows.csv: row 3: the id 'moon' is not of the items"),
        (ROWS, [*ITEMS[:3], "sea"], "rows.csv: row 3: the id 'sea' is that of row 1, too"),
    ],
)
def test_rows_that_do_not_match_are_refused(dataset, rows, ids, message):
    save(rows, ids)
    assert message in refusal(dataset)


def test_another_number_of_rows_than_items_is_refused(dataset):
    save(ROWS[:3])
    assert "rows.npy: has 3 rows, but there are 4 of the items of prepared" in refusal(
        dataset, ids="order"
    )


def test_rows_of_other_items_are_left_out_where_that_is_said(dataset):
    save(np.concatenate([ROWS[:1] * np.nan, ROWS]), ["moon", *ITEMS])
    np.testing.assert_array_equal(extracted(dataset, subset=True), ROWS.astype(np.float32))
    assert "the id 'moon' is not of" in refusal(dataset)


def test_more_rows_of_an_item_than_captions_are_refused(dataset):
    ids = [*ITEMS, "sea", "sea"]  # of which one is, say, the repeated caption
    save(np.zeros((6, 2)), ids)
    for subset in (False, True):
        assert refusal(dataset, unit="caption", subset=subset).startswith(
            "rows.csv: 3 rows have the id 'sea', but 2 of the captions of prepared are of it"
        )


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_value_that_is_no_number_is_refused_with_its_row(dataset, value):
    rows = ROWS.copy()
    rows[2, 1] = value
    save(rows[::-1], ITEMS[::-1])
    assert refusal(dataset).startswith("rows.npy: row 1, of 'cat', has a value that is NaN, inf")


def test_extraction_writes_a_feature_file_and_names_its_inputs(dataset):
    save()
    options = {"file": "rows.npy", "ids": "rows.csv", "modality": "text"}
    arguments = ("prepared", "features", "weights")
    output = dataset.folder / "rows.h5"
    extract(ExtractSpec(plugin="array", options=options), output, *map(type(output), arguments))
    found = read_features(output)
    assert found.ids == ITEMS
    assert {"rows.npy", "rows.csv"} <= {*found.meta["made"]["inputs"]}
    restored = plugins.make("features", "array", options, "here")
    with pytest.raises(CrossmodalError, match=r"^rows\.npy, rows\.csv: .*--item"):
        restored.restore(found.meta)
