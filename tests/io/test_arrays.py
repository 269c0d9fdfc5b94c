"""Matrices of other programs: each format gives the rows that were saved, or says why not."""

import io
import pickle
import re
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_tensors

from crossmodal.errors import CrossmodalError
from crossmodal.io import arrays, stored_arrays
from crossmodal.io.arrays import file_and_name, open_matrix, read_ids, take_rows

ROWS, IDS = np.random.default_rng(0).normal(size=(11, 5)), [f"item {n}é" for n in range(11)]
TAKEN = np.array([7, 0, 10, 3])


def matlab73(path, **variables):
    """As Matlab writes it: HDF5 behind a header of its own, axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            file.create_dataset(name, data=value.T, chunks=True, compression="gzip")
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(512, b"\0"))


def hdf5(path, rows, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/rows", data=rows, **options)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def header(shape, dtype="<f4"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"shape": shape, "fortran_order": False, "descr": dtype}
    )
    return stream.getvalue()


def lists(rows, kind=None):
    return pa.array(rows.tolist(), pa.list_(pa.from_numpy_dtype(rows.dtype), kind or -1))


SAVED = {
    "plain.npy": lambda p, r: np.save(p, r),
    "fortran.npy": lambda p, r: np.save(p, np.asfortranarray(r)),
    "stored.npz": lambda p, r: np.savez(p, rows=r),
    "packed.npz": lambda p, r: np.savez_compressed(p, rows=r),
    "packed_fortran.npz": lambda p, r: np.savez_compressed(p, rows=np.asfortranarray(r)),
    "five.mat": lambda p, r: scipy.io.savemat(p, {"rows": r}),
    "packed.mat": lambda p, r: scipy.io.savemat(p, {"rows": r}, do_compression=True),
    "seven.mat": lambda p, r: matlab73(p, rows=r),
    "plain.h5": lambda p, r: hdf5(p, r),
    "packed.h5": lambda p, r: hdf5(p, r, chunks=(2, 5), compression="gzip"),
    "lists.parquet": lambda p, r: pq.write_table(pa.table({"rows": lists(r)}), p),
    "fixed.parquet": lambda p, r: pq.write_table(
        pa.table({"rows": lists(r, r.shape[1])}), p, row_group_size=4
    ),
    "a.safetensors": lambda p, r: save_file({"rows": np.ascontiguousarray(r)}, p),
}
TYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", SAVED)
def test_rows_are_those_that_were_saved(tmp_path, name, dtype):
    if name.endswith(".mat") and dtype == "float16":
        pytest.skip("Matlab has none")
    rows = (10 * ROWS).astype(dtype)
    SAVED[name](tmp_path / name, rows)
    matrix = open_matrix(tmp_path / name)
    assert matrix.shape == rows.shape
    for taken in (TAKEN, np.arange(11), np.arange(0)):
        found = take_rows(tmp_path / name, matrix, taken)
        np.testing.assert_array_equal(found, rows[taken])
        assert found.dtype == (rows.dtype if "five" not in name else found.dtype)


@pytest.mark.parametrize("name", ["plain.h5", "packed.h5", "seven.mat"])
def test_rows_are_read_in_slices_of_any_size(tmp_path, name, monkeypatch):
    SAVED[name](tmp_path / name, ROWS)
    for size in (1, 100, 10_000):
        monkeypatch.setattr(stored_arrays, "SLICE", size)
        found = take_rows(tmp_path / name, open_matrix(tmp_path / name), TAKEN)
        np.testing.assert_array_equal(found, ROWS[TAKEN])


def test_big_ends_are_read(tmp_path):
    np.save(tmp_path / "a.npy", ROWS.astype(">f4"))
    found = take_rows(tmp_path / "a.npy", open_matrix(tmp_path / "a.npy"), TAKEN)
    np.testing.assert_array_equal(found, ROWS[TAKEN].astype(">f4"))


def in_matlab73(path, name, kind, **members):
    """A group of Matlab's, such as a structure or a sparse matrix."""
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group(name)
        group.attrs.update(kind)
        for key, value in members.items():
            group[key] = value


def sparse73(path):
    x = scipy.sparse.csc_array(ROWS)
    kind = {"MATLAB_class": np.bytes_("double"), "MATLAB_sparse": np.uint64(len(ROWS))}
    in_matlab73(path, "x", kind, data=x.data, ir=x.indices, jc=x.indptr)


def ragged(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (2,), h5py.vlen_dtype("f4"))


def lists_of(*values):
    return lambda path: pq.write_table(
        pa.table({"x": pa.array(values, pa.list_(pa.float32()))}), path
    )


def null(path, **others):
    """An array without even a shape, beside others."""
    with h5py.File(path, "w") as file:
        file["null"] = h5py.Empty("f4")
        file.update(others)


UNREAD = {
    "null.h5": (null, "it has no values, not even a shape"),
    "struct.mat": (lambda p: scipy.io.savemat(p, {"x": {"a": ROWS}}), "save its field by itself"),
    "sparse.mat": (lambda p: scipy.io.savemat(p, {"x": scipy.sparse.csc_array(ROWS)}), "full(x)"),
    "sparse73.mat": (sparse73, "it is sparse; save `full(x)`"),
    "ragged.h5": (ragged, "lists of any length; save a matrix"),
    "null.parquet": (lists_of(None, [1]), "row 0 of column 'x' is empty; give"),
    "empty.parquet": (lists_of([], [1]), "row 0 of column 'x' is empty; give"),
    "hole.parquet": (lists_of([1], None), "row 1 has 0 values, but row 0 has 1"),
    "scalar.npy": (lambda p: np.save(p, 3.0), "of shape \\(\\); give rows and columns"),
    "bits.npy": (lambda p: np.save(p, ROWS > 0), "bool of shape .*; give rows and columns"),
    "complex.npy": (lambda p: np.save(p, ROWS * 1j), "complex128 of shape .*; give rows"),
    "cube.npy": (lambda p: np.save(p, ROWS[None]), "\\(1, 11, 5\\); give rows and columns"),
    "bfloat.safetensors": (
        lambda p: save_tensors({"x": torch.ones(2, 2, dtype=torch.bfloat16)}, p),
        "BF16; save it as float32",
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_no_matrix_is_refused_with_what_to_do(tmp_path, name):
    save, message = UNREAD[name]
    save(tmp_path / name)
    message = re.escape(message) if message.endswith(("(x)", "(x)`")) else message
    path = tmp_path / name
    with pytest.raises(CrossmodalError, match=rf"{name}: .*{message}"):
        take_rows(path, open_matrix(path), np.arange(1))


def test_a_matrix_beside_an_array_without_a_shape_is_read(tmp_path):
    path = tmp_path / "a.h5"
    null(path, x=ROWS)
    assert (take_rows(path, open_matrix(path), TAKEN) == ROWS[TAKEN]).all()


def test_a_matrix_of_a_structure_in_matlab_7_3_is_read(tmp_path):
    path = tmp_path / "a.mat"
    in_matlab73(path, "s", {"MATLAB_class": np.bytes_("struct")}, x=ROWS.T)
    assert (take_rows(path, open_matrix(path), TAKEN) == ROWS[TAKEN]).all()


def test_an_array_may_be_named_after_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", rows=ROWS)
    assert file_and_name(Path("a.npz:rows")) == (Path("a.npz"), "rows")
    assert file_and_name(Path("c:/a.npz")) == (Path("c:/a.npz"), "")
    Path("b.npz:x").touch()
    assert file_and_name(Path("b.npz:x")) == (Path("b.npz:x"), "")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, None, 3], "row 1 of column 'id' is 'None'; give texts"),
        (["a", None], "row 1 of column 'id' is 'None'; give texts"),
        ([None, "a"], "row 1 of column 'id' is 'a'; give texts|row 0 of column 'id'"),
        ([1.5, 2.0], "its ids are float64; give texts or whole numbers"),
    ],
)
def test_ids_that_are_none_are_named_with_their_row(tmp_path, ids, message):
    rows = pa.array([[1.0, 2.0]] * len(ids))
    pq.write_table(pa.table({"id": ids, "x": rows}), tmp_path / "a.parquet")
    with pytest.raises(CrossmodalError, match=rf"a\.parquet: .*({message})"):
        read_ids(tmp_path / "a.parquet", "id")


def test_ids_may_be_whole_numbers_that_pandas_made_fractional(tmp_path):
    rows = pa.array([[1.0, 2.0]] * 2)
    pq.write_table(pa.table({"id": [3.0, 4.0], "x": rows}), tmp_path / "a.parquet")
    assert read_ids(tmp_path / "a.parquet", "id") == ["3", "4"]
    np.save(tmp_path / "a.npy", np.array([b"\xff"]))
    with pytest.raises(CrossmodalError, match="is no text in UTF-8"):
        read_ids(tmp_path / "a.npy")


def test_columns_of_numbers_are_a_matrix_beside_ids(tmp_path):
    table = pa.table({"id": IDS, **{f"x{n}": ROWS[:, n] for n in range(5)}, "kind": range(11)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    matrix = open_matrix(tmp_path / "a.parquet", ids="id")
    np.testing.assert_array_equal(take_rows(tmp_path / "a.parquet", matrix, TAKEN), ROWS[TAKEN])
    assert read_ids(tmp_path / "a.parquet", "id") == IDS
    assert read_ids(tmp_path / "a.parquet", "kind") == [*map(str, range(11))]


@pytest.mark.parametrize("ids", [IDS, [*range(11)]])
@pytest.mark.parametrize("name", ["a.npz", "a.mat", "a7.mat", "a.h5", "a.safetensors"])
def test_ids_may_lie_beside_the_rows(tmp_path, name, ids):
    path, values = tmp_path / name, np.array(ids)
    if name == "a.npz":
        np.savez(path, rows=ROWS, ids=values)
    elif name == "a.mat":
        scipy.io.savemat(path, {"rows": ROWS, "ids": np.array(ids, object)})
    elif name == "a.h5":
        hdf5(path, ROWS)
        with h5py.File(path, "a") as file:
            file["ids"] = ids
    elif isinstance(ids[0], str):
        pytest.skip("it has no texts")
    elif name == "a7.mat":
        matlab73(path, rows=ROWS, ids=values[:, None].astype(float))
    else:
        save_file({"rows": ROWS, "ids": values}, path)
    assert read_ids(path, "ids") == [*map(str, ids)]
    assert open_matrix(path, ids="ids").shape == (11, 5)


@pytest.mark.parametrize("name", ["ids.csv", "ids.txt", "ids.npy"])
def test_ids_may_be_a_file(tmp_path, name):
    path = tmp_path / name
    if name == "ids.npy":
        np.save(path, np.array(IDS))
    else:
        lines = ["label;ID", *(f"x;{id}" for id in IDS)] if name == "ids.csv" else IDS
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read_ids(path) == IDS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,id\na red circle, and sand,i0\n", "row 2: 3 fields, but 2 columns"),
        ("text,id\na red circle\n", "row 2: 1 fields, but 2 columns"),
        ("id,ID\ni0,i1\n", "column 'id' is repeated"),
        ("text,name\na,b\n", "has no column 'id'; name it in the first row"),
    ],
)
def test_ids_of_a_malformed_csv_are_refused(tmp_path, content, message):
    (tmp_path / "ids.csv").write_text(content)
    with pytest.raises(CrossmodalError, match=rf"ids\.csv: .*{message}"):
        read_ids(tmp_path / "ids.csv")


def test_a_file_larger_than_memory_may_be_mapped(tmp_path):
    """Ten terabytes that are not there: a sparse file, of which three rows are read."""
    shape, path = (10**10, 256), tmp_path / "a.npy"
    with path.open("wb") as stream:
        stream.write(header(shape))
        stream.truncate(stream.tell() + 4 * shape[0] * shape[1])
    rows = np.array([5, 10**10 - 1, 10**9])
    assert not take_rows(path, open_matrix(path), rows).any()


class Harmful:
    def __reduce__(self):
        return sys.exit, (3,)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "b.npy"])
def test_nothing_is_unpickled(tmp_path, name):
    path, harmful = tmp_path / name, np.array([[Harmful()]])
    if name == "a.npz":
        np.savez(path, rows=harmful)
    elif name == "a.npy":
        np.save(path, harmful)
    else:
        path.write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(CrossmodalError, match=rf"{name}: cannot be read: (it has obj|the magic)"):
        open_matrix(path)
    with pytest.raises(CrossmodalError, match="cannot be read"):
        read_ids(path, "rows" if name == "a.npz" else "")


def test_a_bomb_is_refused_by_its_header(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_arrays, "LARGE", 1 << 10)
    np.savez_compressed(tmp_path / "a.npz", rows=np.zeros((1 << 12, 1 << 6)))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", (1 << 40, 512), "f4", chunks=(1 << 10, 512))
    scipy.io.savemat(tmp_path / "a.mat", {"a": np.zeros((1 << 12, 1 << 6))}, do_compression=True)
    rows = lists(np.zeros((1 << 12, 1 << 6)), 1 << 6)
    pq.write_table(pa.table({"a": rows}), tmp_path / "a.parquet", compression="gzip")
    for suffix in ("npz", "h5", "mat", "parquet"):
        with pytest.raises(CrossmodalError, match="bytes claim to be"):
            open_matrix(tmp_path / f"a.{suffix}")


@pytest.mark.parametrize("shape", [(10, 6), (12, 5), (1 << 60, 1 << 3)])
def test_a_header_that_lies_is_refused(tmp_path, shape):
    content = header(shape, "<f8") + ROWS.tobytes()
    (tmp_path / "a.npy").write_bytes(content)
    zipped(tmp_path / "a.npz", rows=content)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(CrossmodalError, match=r"a\.np.: .*440 bytes are there, .* says"):
            open_matrix(tmp_path / name)


def test_arrays_of_other_files_are_not_read(tmp_path):
    hdf5(tmp_path / "secret.h5", ROWS)
    layout = h5py.VirtualLayout((11, 5), "f8")
    layout[:] = h5py.VirtualSource(tmp_path / "secret.h5", "group/rows", (11, 5))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_virtual_dataset("virtual", layout)
        file["link"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "group/rows")
        raw = [(str(tmp_path / "secret.h5"), 0, 440)]
        file.create_dataset("external", (11, 5), "f8", external=raw)
    assert arrays._arrays(tmp_path / "a.h5").keys() == {"virtual", "external"}
    for name in ("virtual", "external"):
        with pytest.raises(CrossmodalError, match="lie in other files, which are not read"):
            open_matrix(tmp_path / "a.h5", name)


@pytest.mark.parametrize(
    ("name", "save", "message"),
    [
        ("a.pkl", lambda p: p.write_bytes(b"x"), r"none of \.npy, .*save it as"),
        ("a.npy", lambda p: np.save(p, ROWS[0]), r"float64 of shape \(5,\); give rows"),
        ("a.npy", lambda p: np.save(p, ROWS.astype(complex)), "complex128 of shape"),
        ("a.npy", lambda p: np.save(p, ROWS[:, :0]), "has 0 columns"),
        ("a.npy", lambda p: p.write_bytes(b""), "cannot be read"),
        (
            "a.npy",
            lambda p: p.write_bytes(header((2, 2)).replace(b"}", b"[")),
            "its header is no description of an array",
        ),
        (
            "a.npz",
            lambda p: np.savez(p, a=ROWS, b=ROWS),
            r"`name` or a.npz:NAME; it has: a \(11, 5\), b",
        ),
        ("a.npz", lambda p: p.write_bytes(b"PK\3\4"), "cannot be read: File is not a zip"),
        ("a.mat", lambda p: p.write_bytes(b"x" * 200), "cannot be read"),
        (
            "a.mat",
            lambda p: scipy.io.savemat(p, {"a": scipy.sparse.eye(3)}),
            r"it is sparse; save `full\(x\)`",
        ),
        ("a.h5", lambda p: p.write_bytes(b"x"), "cannot be read"),
        ("a.parquet", lambda p: p.write_bytes(b"x" * 20), "cannot be read"),
        (
            "a.safetensors",
            lambda p: save_tensors({"a": torch.zeros(1, 2, dtype=torch.bfloat16)}, p),
            "it is of BF16; save it as float32",
        ),
        ("a.safetensors", lambda p: p.write_bytes(b"\xff" * 20), "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, save, message):
    save(tmp_path / name)
    with pytest.raises(CrossmodalError, match=rf"^{tmp_path / name}: .*{message}"):
        open_matrix(tmp_path / name)


@pytest.mark.parametrize(("bad", "message"), [([1.0], "row 2 has 1 values, but row 0 has 5")])
def test_lists_of_other_lengths_are_named_with_their_row(tmp_path, bad, message):
    rows = [[0.0] * 5, [0.0] * 5, bad]
    pq.write_table(pa.table({"a": pa.array(rows)}), tmp_path / "a.parquet")
    matrix = open_matrix(tmp_path / "a.parquet")
    with pytest.raises(CrossmodalError, match=rf"a\.parquet: cannot be read: {message}"):
        take_rows(tmp_path / "a.parquet", matrix, np.arange(2))


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": lists(ROWS)}), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CrossmodalError, match=r"needs pyarrow; run `pip install .*\[formats\]"):
        open_matrix(tmp_path / "a.parquet")
