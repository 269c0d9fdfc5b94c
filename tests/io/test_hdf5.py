"""HDF5 files that cannot be written to the end."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from crossmodal.io import hdf5

ARRAYS = 6
# no file may grow beyond so many bytes, as if the disk were full
WRITER = """
import resource, sys
from pathlib import Path
import numpy as np
from crossmodal.io import hdf5

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
try:
    with hdf5.create(Path("a.h5")) as file:
        for number in range(int(sys.argv[2])):
            hdf5.store(file, str(number), np.random.default_rng(0).random((40, 16)))
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("size", [0, 4_000, 12_000])
def test_a_file_without_space_is_an_error_with_its_name(tmp_path, size):
    command = [sys.executable, "-c", WRITER, str(size), str(ARRAYS)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        0,
        "[Errno 27] File too large: 'a.h5'\n",
        "",
    )


def test_what_is_stored_comes_back(tmp_path):
    arrays = {str(size): np.random.default_rng(size).random((size, 3)) for size in (0, 1, 99_999)}
    with hdf5.create(tmp_path / "a.h5") as file:
        for name, array in arrays.items():
            hdf5.store(file, name, array)
        hdf5.store_strings(file, "ids", ["a", "été"])
    with h5py.File(tmp_path / "a.h5") as file:
        assert all(np.array_equal(file[name], array) for name, array in arrays.items())
        assert file["ids"].asstr()[()].tolist() == ["a", "été"]


def test_an_error_in_between_is_the_one_that_is_raised(tmp_path):
    with pytest.raises(KeyError, match="mine"), hdf5.create(tmp_path / "a.h5"):
        raise KeyError("mine")


@pytest.fixture
def outside(tmp_path):
    """A secret, in a file of HDF5 and as it is."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["ids"] = np.arange(3)
    (tmp_path / "secret").write_bytes(bytes(range(8)))
    return tmp_path


def link_out(file, outside):
    file["ids"] = h5py.ExternalLink(str(outside / "secret.h5"), "ids")


def link_group_out(file, outside):
    file["group"] = h5py.ExternalLink(str(outside / "secret.h5"), "/")


def keep_values_outside(file, outside):
    file.create_dataset("ids", (8,), np.uint8, external=[(str(outside / "secret"), 0, 8)])


def compose_of_outside(file, outside):
    layout = h5py.VirtualLayout((3,), np.int64)
    layout[:] = h5py.VirtualSource(outside / "secret.h5", "ids", (3,))
    file.create_virtual_dataset("ids", layout)


def link_inside(file, outside):
    file["real"] = np.arange(3)
    file["ids"] = h5py.SoftLink("/real")


def claim_much(file, outside):
    file.create_dataset("ids", (1 << 40,), np.uint8, chunks=(1 << 20,))


def make_a_group(file, outside):
    file.create_group("ids")


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (link_out, "ids"),
        (link_group_out, "group/ids"),
        (keep_values_outside, "ids"),
        (compose_of_outside, "ids"),
        (link_inside, "ids"),
        (claim_much, "ids"),
        (make_a_group, "ids"),
    ],
)
def test_a_part_outside_of_its_file_is_refused(outside, write, name):
    with h5py.File(outside / "a.h5", "w") as file:
        write(file, outside)
    with h5py.File(outside / "a.h5") as file, pytest.raises(ValueError, match=r"^(ids|group) "):
        hdf5.part(file, name)


@pytest.mark.parametrize("name", ["none", "group/none", "", "/", "../ids", "group"])
def test_a_part_that_is_not_there_is_an_error(tmp_path, name):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/ids"] = np.arange(3)
        assert hdf5.part(file, "group/ids")[()].tolist() == [0, 1, 2]
        with pytest.raises((KeyError, ValueError)):
            hdf5.part(file, name)
