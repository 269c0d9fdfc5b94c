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
