import os
import subprocess
import sys

from crossmodal.methods._online.compiled import cache


def test_kernels_go_to_the_first_place_that_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    folder = cache(["", tmp_path / "file", tmp_path / "mine", tmp_path / "other"])
    assert os.path.dirname(folder) == str(tmp_path / "mine")
    assert os.listdir(tmp_path / "mine") == [os.path.basename(folder)]
    assert os.listdir(folder) == []


def test_kernels_are_not_cached_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    assert cache([tmp_path / "file", tmp_path / "file/below"]) == ""


def test_a_cache_of_numba_that_a_variable_names_is_used(tmp_path):
    code = "from crossmodal.methods._online.compiled import config; print(config.CACHE_DIR)"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    output = subprocess.check_output(command, env=environment, text=True, timeout=120)
    assert output.startswith(f"{tmp_path}/kernels-")
