"""Arrays of files of NumPy, Matlab, HDF5 and safetensors by name, opened by their headers."""

import json
import math
import shutil
import struct
import zipfile
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import IO

import h5py
import numpy as np
import scipy.io
from numpy.lib import format as npy

from crossmodal.io import hdf5
from crossmodal.io.stored_arrays import (
    Loaded,
    Mapped,
    Sliced,
    Stored,
    Unpacked,
    Unread,
    refuse_inflation,
)

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
OBJECTS = "it has objects of Python, which are never read; save numbers or texts"
# safetensors' names of the types that NumPy has
TYPES = {f"{kind}{8 * n}": f"<{kind.lower()}{n}" for kind in "FIU" for n in (1, 2, 4, 8)}
# Matlab's names of types
CLASSES = {"double": "f8", "single": "f4", "char": "U", "cell": "U", "logical": "u1"}
UNREAD_CLASSES = {
    "sparse": "it is sparse; save `full(x)`",
    "struct": "it is a structure; save its field by itself, as `x = s.x; save('x.mat', 'x')`",
}
CLASSES |= {f"{u}int{8 * n}": f"{u or 'i'}{n}" for u in ("", "u") for n in (1, 2, 4, 8)}


def npy_arrays(path: Path) -> dict[str, Stored]:
    """Return the array of a file of NumPy's, without a name.

    Raises:
        ValueError: If the file is shorter than its header says, or no such file.
    """
    with path.open("rb") as stream:
        shape, fortran, dtype = _header(stream)
        begin = stream.tell()
    if dtype.hasobject:
        return {"": Unread(shape, OBJECTS)}
    _check_size(path.stat().st_size - begin, shape, dtype)
    return {"": Mapped(path, dtype, shape, begin, fortran)}


def npz_arrays(path: Path) -> dict[str, Stored]:
    """Return the arrays of an archive of NumPy's; those that are not compressed are mapped.

    Raises:
        ValueError: If a member has another size than its header says.
    """
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        return {m.filename.removesuffix(".npy"): _zipped(path, archive, m) for m in members}


def _zipped(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Stored:
    with archive.open(member) as stream:
        shape, fortran, dtype = _header(stream)
        begin = stream.tell()
    if dtype.hasobject:
        return Unread(shape, OBJECTS)
    _check_size(member.file_size - begin, shape, dtype)
    if member.compress_type == zipfile.ZIP_STORED:
        with path.open("rb") as file:  # the name's length is elsewhere in the directory's copy
            file.seek(member.header_offset + 26)
            lengths = struct.unpack("<HH", file.read(4))
        start = member.header_offset + 30 + sum(lengths) + begin
        return Mapped(path, dtype, shape, start, fortran)
    refuse_inflation(member.file_size, member.compress_size)
    return Unpacked(dtype, shape, partial(_unzip, path, member.filename, begin), fortran)


def _unzip(path: Path, name: str, begin: int, output: IO[bytes]) -> None:
    """Write a member of an archive from a byte on."""
    with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
        stream.read(begin)
        shutil.copyfileobj(stream, output, 1 << 20)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, whether columns lie one behind the other, and type; nothing is unpickled."""
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"version {version} of NumPy's format is not read")
    try:
        return HEADERS[version](stream)
    except (TokenError, SyntaxError) as error:
        raise ValueError(f"its header is no description of an array: {error}") from error


def _check_size(size: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Check that as many bytes are there as a header says."""
    if size != (expected := math.prod(shape) * dtype.itemsize):
        raise ValueError(f"{size:,} bytes are there, but its header says {expected:,}")


def safetensors_arrays(path: Path) -> dict[str, Stored]:
    """Return the tensors of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np"):  # checks that all tensors lie in the file
            pass
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        tensors = json.loads(stream.read(length))
    arrays: dict[str, Stored] = {}
    for name, tensor in tensors.items():
        if name == "__metadata__":
            continue
        shape, kind = tuple(tensor["shape"]), tensor["dtype"]
        if kind in TYPES:
            start = 8 + length + tensor["data_offsets"][0]
            arrays[name] = Mapped(path, np.dtype(TYPES[kind]), shape, start)
        else:
            arrays[name] = Unread(shape, f"it is of {kind}; save it as float32")
    return arrays


def hdf5_arrays(path: Path, transposed: bool = False) -> dict[str, Stored]:
    """Return the arrays of an HDF5 file, which lie in the file itself; links are not followed."""
    file = hdf5.read(path)
    arrays: dict[str, Stored] = {}

    def add(name: str, member: h5py.HLObject) -> None:
        if "MATLAB_sparse" in member.parent.attrs:
            name = name.rpartition("/")[0]
            arrays[name] = Unread((), UNREAD_CLASSES["sparse"])
        elif isinstance(member, h5py.Dataset) and not name.startswith("#"):  # Matlab's own
            arrays[name] = _in_hdf5(member, transposed)

    file.visititems(add)
    return arrays


def _in_hdf5(member: h5py.Dataset, transposed: bool) -> Stored:
    if member.shape is None:
        return Unread((), "it has no values, not even a shape; save a matrix")
    if member.external or member.is_virtual:
        return Unread(member.shape, "its values lie in other files, which are not read")
    is_text = h5py.check_string_dtype(member.dtype)
    if h5py.check_vlen_dtype(member.dtype) and not is_text:
        return Unread(member.shape, "its rows are lists of any length; save a matrix")
    kind = member.attrs.get("MATLAB_class", b"double")
    if member.dtype.hasobject and not is_text:
        return Unread(member.shape, "it has references; give ids in a file of their own")
    if kind in (b"char", b"cell"):
        return Unread(member.shape, "it has texts of Matlab; give ids in a file of their own")
    refuse_inflation(member.nbytes, member.id.get_storage_size())
    return Sliced(member, transposed)


def matlab_arrays(path: Path) -> dict[str, Stored]:
    """Return the variables of a Matlab file, of version 5 or 7.3, which is HDF5."""
    if h5py.is_hdf5(path):
        return hdf5_arrays(path, transposed=True)
    arrays: dict[str, Stored] = {}
    for name, shape, kind in scipy.io.whosmat(path):
        if kind not in CLASSES:
            other = f"it is of Matlab's class {kind}; save a matrix of numbers"
            arrays[name] = Unread(shape, UNREAD_CLASSES.get(kind, other))
            continue
        dtype = np.dtype(CLASSES[kind])
        refuse_inflation(math.prod(shape) * dtype.itemsize, path.stat().st_size)
        arrays[name] = Loaded(dtype, shape, partial(_variable, path, name))
    return arrays


def _variable(path: Path, name: str) -> np.ndarray:
    """Return a variable; of cells that hold texts, the texts."""
    value = scipy.io.loadmat(path, variable_names=[name])[name]
    if value.dtype.kind == "O":
        return np.array([[str(cell.item()) for cell in row] for row in value])
    if value.dtype.kind == "c":
        raise ValueError("it has complex numbers")
    return value
