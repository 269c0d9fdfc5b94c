import tracemalloc

import h5py
import numpy as np
import pytest

from crossmodal.data.feature_file import (
    FileRagged,
    Ragged,
    open_features,
    read_features,
    write_features,
)
from crossmodal.errors import CrossmodalError

DTYPES = [np.int8, np.int64, np.float16, np.float32, np.float64]


def make_sequences(rng, count, dtype=np.float32):
    """Random sequences of vectors, some of them empty."""
    lengths = rng.integers(0, 6, count)
    return [(100 * rng.standard_normal((length, 3))).astype(dtype) for length in lengths]


def assert_same_sequences(ragged, sequences):
    assert len(ragged) == len(sequences)
    for row, sequence in enumerate(sequences):
        np.testing.assert_array_equal(ragged[row], sequence)
        assert ragged[row].dtype == sequence.dtype


def assert_same_features(found, expected):
    """Dense or ragged features are equal to the last bit, dtype included."""
    if isinstance(expected, Ragged):
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        found, expected = found.values, expected.values
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.fixture(params=["dense", "ragged"])
def make_features(request, rng):
    """Make n rows of features, as an array or as sequences."""

    def make(count, dtype=np.float32):
        if request.param == "ragged":
            return Ragged.concatenate(make_sequences(rng, count, dtype))
        return (100 * rng.standard_normal((count, 3))).astype(dtype)

    return make


def take(features, rows):
    return features.take(rows) if isinstance(features, Ragged) else features[rows]


def names(count):
    """Row ids and their items: three rows per item, names that are no ASCII."""
    return [f"ü{row}#" for row in range(count)], [f"猫{row // 3}" for row in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_concatenated_sequences_are_the_list_of_them(seed):
    sequences = make_sequences(np.random.default_rng(seed), 1 + seed)
    ragged = Ragged.concatenate(sequences)
    assert_same_sequences(ragged, sequences)
    np.testing.assert_array_equal(ragged.lengths, [len(s) for s in sequences])


@pytest.mark.parametrize("seed", range(20))
def test_taking_rows_of_sequences_is_indexing_a_list(seed):
    rng = np.random.default_rng(seed)
    sequences = make_sequences(rng, 8)
    rows = rng.integers(0, 8, rng.integers(0, 20))  # in any order, some several times
    assert_same_sequences(Ragged.concatenate(sequences).take(rows), [sequences[r] for r in rows])


def test_sequences_may_be_of_numbers_or_of_matrices(rng):
    for shape in [(), (2, 4)]:
        sequences = [rng.standard_normal((length, *shape)) for length in (2, 0, 3)]
        taken = Ragged.concatenate(sequences).take(np.array([2, 0]))
        assert_same_sequences(taken, [sequences[2], sequences[0]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_was_written_is_read_to_the_last_bit(tmp_path, make_features, dtype):
    features, (ids, items) = make_features(12, dtype), names(12)
    meta = {"vocabulary": ["a", "ü"], "size": 2}
    write_features(tmp_path / "a.h5", ids, items, [features], meta)
    found = read_features(tmp_path / "a.h5")
    assert (found.ids, found.items, found.meta) == (ids, items, meta)
    assert_same_features(found.features, features)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_chunks_make_the_same_file_as_the_whole(tmp_path, make_features, size):
    features, (ids, items) = make_features(12), names(12)
    chunks = [take(features, np.arange(12)[start:][:size]) for start in range(0, 12, size)]
    write_features(tmp_path / "whole.h5", ids, items, [features], {})
    write_features(tmp_path / "chunks.h5", ids, items, chunks, {})
    assert (tmp_path / "whole.h5").read_bytes() == (tmp_path / "chunks.h5").read_bytes()


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"猫1"}, [3, 4, 5]),
        ({"猫0", "猫1"}, [0, 1, 2, 3, 4, 5]),
        ({"猫3", "猫0"}, [0, 1, 2, 9, 10, 11]),
        ({"猫2", "none"}, [6, 7, 8]),
        ({"none"}, []),
        (None, list(range(12))),
    ],
)
def test_the_rows_of_some_items_are_read_in_the_order_of_the_file(
    tmp_path, make_features, wanted, rows
):
    features, (ids, items) = make_features(12), names(12)
    write_features(tmp_path / "a.h5", ids, items, [features], {})
    found = read_features(tmp_path / "a.h5", wanted)
    assert found.ids == [ids[r] for r in rows]
    assert found.items == [items[r] for r in rows]
    assert_same_features(found.features, take(features, np.array(rows, int)))


def test_rows_are_taken_with_their_ids(tmp_path, make_features):
    features, (ids, items) = make_features(6), names(6)
    write_features(tmp_path / "a.h5", ids, items, [features], {})
    taken = read_features(tmp_path / "a.h5").take(np.array([5, 0, 5]))
    assert taken.ids == [ids[5], ids[0], ids[5]]
    assert taken.items == [items[5], items[0], items[5]]
    assert_same_features(taken.features, take(features, np.array([5, 0, 5])))


def test_an_opened_file_is_read_when_it_is_sliced(tmp_path, rng):
    features, (ids, items) = rng.standard_normal((12, 3)), names(12)
    write_features(tmp_path / "a.h5", ids, items, [features], {"size": 3})
    opened = open_features(tmp_path / "a.h5")
    assert (opened.ids, opened.items, opened.meta) == (ids, items, {"size": 3})
    assert not isinstance(opened.features, np.ndarray)
    np.testing.assert_array_equal(opened.features[4:9], features[4:9])


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [np.ones((2, 3))],
        [np.ones((2, 3)), np.ones((2, 3))],
        [np.ones((2, 3)), np.ones((1, 1))],
        [np.ones((2, 3), np.int64), np.ones((1, 3), np.float64)],
        [Ragged.concatenate([np.ones((2, 3))] * 2), Ragged.concatenate([np.ones((2, 4))])],
    ],
)
def test_chunks_that_do_not_fit_three_rows_are_refused(tmp_path, chunks):
    with pytest.raises(CrossmodalError, match=r"a\.h5"):
        write_features(tmp_path / "a.h5", *names(3), chunks, {})
    assert list(tmp_path.iterdir()) == []


def test_every_row_needs_an_item(tmp_path):
    with pytest.raises(CrossmodalError, match=r"a\.h5"):
        write_features(tmp_path / "a.h5", ["1", "2"], ["1"], [np.ones((2, 3))], {})


@pytest.fixture(params=[read_features, open_features])
def read(request):
    return request.param


def test_a_missing_file_is_named(tmp_path, read):
    with pytest.raises(CrossmodalError, match=r"none\.h5"):
        read(tmp_path / "none.h5")


@pytest.mark.parametrize("content", [b"", b"no HDF5 at all", bytes(5000)])
def test_a_file_of_another_kind_is_named(tmp_path, read, content):
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"a\.h5: corrupt or truncated feature file"):
        read(tmp_path / "a.h5")


def test_a_file_cut_anywhere_is_named(tmp_path, read, rng):
    path = tmp_path / "a.h5"
    write_features(path, *names(12), [rng.standard_normal((12, 3))], {})
    content = path.read_bytes()
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(CrossmodalError, match=r"a\.h5: corrupt or truncated feature file"):
            read(path)


def test_a_flipped_bit_is_noticed_or_harmless(tmp_path, make_features):
    path, features = tmp_path / "a.h5", make_features(12)
    write_features(path, *names(12), [features], {"vocabulary": ["dog", "猫"]})
    content, whole = path.read_bytes(), read_features(path)
    noticed = 0
    for place in range(0, len(content), 7):
        path.write_bytes(flipped(content, place))
        try:
            found = read_features(path)
        except CrossmodalError as error:
            noticed += str(error).startswith(f"{path}: corrupt")
        else:
            assert (found.ids, found.items, found.meta) == (whole.ids, whole.items, whole.meta)
            assert_same_features(found.features, whole.features)
    assert noticed > 50


def flipped(content, place):
    """Content with one bit changed."""
    changed = bytearray(content)
    changed[place] ^= 1 << place % 8
    return bytes(changed)


def test_a_flipped_bit_is_noticed_when_an_opened_file_is_sliced(tmp_path, rng):
    path, features = tmp_path / "a.h5", rng.standard_normal((12, 3))
    write_features(path, *names(12), [features], {})
    content = path.read_bytes()
    path.write_bytes(flipped(content, content.index(features[6].tobytes())))
    opened = open_features(path)
    with pytest.raises(CrossmodalError, match=r"a\.h5: corrupt.*delete it and run again"):
        opened.features[4:9]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_not_written(tmp_path, make_features, value):
    features, (ids, items) = make_features(12), names(12)
    row = spoil(features, value)
    chunks = [take(features, np.arange(5)), take(features, np.arange(5, 12))]
    with pytest.raises(CrossmodalError, match=rf"a\.h5: row '{ids[row]}' has values that are NaN"):
        write_features(tmp_path / "a.h5", ids, items, chunks, {})
    assert list(tmp_path.iterdir()) == []


def spoil(features, value):
    """Give the last row that has any value another one; which row that is."""
    ragged = isinstance(features, Ragged)
    (features.values if ragged else features)[-1] = value
    return np.flatnonzero(features.lengths)[-1] if ragged else len(features) - 1


def test_values_that_are_not_finite_are_not_read(tmp_path):
    features = np.ones((2, 3))
    features[1, 2] = np.nan
    write_hdf5(tmp_path / "a.h5", **WHOLE | {"features": features})
    with pytest.raises(
        CrossmodalError, match=r"a\.h5:.*row '2' has values that are NaN.*delete it"
    ):
        read_features(tmp_path / "a.h5")
    with pytest.raises(CrossmodalError, match=r"a\.h5:.*row '2' has values that are NaN"):
        open_features(tmp_path / "a.h5").features[1:2]


def write_hdf5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            if array is not None:
                file[name] = array


NAMES = np.array([b"1", b"2"])
WHOLE = {"ids": NAMES, "items": NAMES, "features": np.ones((2, 3)), "meta": np.array([b"{}"])}


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": None},
        {"features": None},
        {"meta": None},
        {"meta": np.array([b"{"])},
        {"meta": np.array([b"{}", b"{}"])},
        {"ids": ["1", "2"]},
        {"ids": np.arange(2)},
        {"items": NAMES[:1]},
        {"features": None, "values": np.ones((4, 3)), "offsets": np.array([1, 2, 4])},
        {"features": None, "values": np.ones((4, 3)), "offsets": np.array([0, 5, 4])},
        {"features": np.ones((3, 3))},
        {"features": None, "values": np.ones((4, 3)), "offsets": np.array([0, 4])},
        {"features": None, "values": np.ones((4, 3)), "offsets": np.array([0, 1, 5])},
    ],
)
def test_parts_that_do_not_fit_together_are_refused(tmp_path, changes):
    write_hdf5(tmp_path / "a.h5", **WHOLE | changes)
    with pytest.raises(CrossmodalError, match=r"a\.h5: corrupt or truncated feature file"):
        read_features(tmp_path / "a.h5")


def test_parts_that_say_more_than_the_file_holds_are_refused(tmp_path):
    write_hdf5(tmp_path / "a.h5", **WHOLE | {"features": None})
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file.create_dataset("features", (2, 10**12), np.float32, chunks=(1, 1024))
    with pytest.raises(
        CrossmodalError, match=r"a\.h5: corrupt or truncated feature file \(features have"
    ):
        read_features(tmp_path / "a.h5")


def test_parts_that_fit_together_are_read(tmp_path):
    write_hdf5(tmp_path / "a.h5", **WHOLE)
    assert read_features(tmp_path / "a.h5").ids == ["1", "2"]


def test_large_image_files_stay_in_the_feature_file(tmp_path, rng, monkeypatch):
    files = make_sequences(rng, 12, np.uint8)
    ids, items = names(12)
    write_features(tmp_path / "f.h5", ids, items, [Ragged.concatenate(files)], {})
    monkeypatch.setattr("crossmodal.data.feature_file.IN_MEMORY", 0)
    found = read_features(tmp_path / "f.h5", {items[0], items[6], items[9]}).features
    expected = [files[row] for row in (0, 1, 2, 6, 7, 8, 9, 10, 11)]
    assert isinstance(found, FileRagged)
    assert_same_sequences(found, expected)
    assert_same_sequences(found.take(np.array([4, 0])), [expected[4], expected[0]])


@pytest.mark.parametrize("ragged", [True, False])
def test_rows_are_read_without_a_copy(tmp_path, ragged):
    values, (ids, items) = np.ones((240_000, 40), np.float16), names(600)
    rows = Ragged(values, np.arange(601) * 400) if ragged else values.reshape(600, -1)
    write_features(tmp_path / "f.h5", ids, items, [rows], {})
    tracemalloc.start()
    read_features(tmp_path / "f.h5", set(items[::2]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.3 * values.nbytes
