import numpy as np
import pytest

from crossmodal.io import snapshots
from crossmodal.io.snapshots import Snapshot, computed_once


def test_a_state_comes_back_in_another_process(tmp_path):
    assert Snapshot(tmp_path).load() is None
    saved = {"x": np.arange(3), "count": np.array(7), "transposed": np.ones((2, 3)).T}
    Snapshot(tmp_path).save_if_due(lambda: (saved, {"curve": [{"loss": 0.1}]}))
    arrays, facts = Snapshot(tmp_path).load()
    assert arrays.keys() == saved.keys()
    for name, array in saved.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)
    assert facts == {"curve": [{"loss": 0.1}]}


def test_saving_takes_a_share_of_the_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(snapshots.time, "monotonic", lambda: now[0])
    saved, snapshot = [], Snapshot(tmp_path)

    def state():
        saved.append(now[0])
        now[0] += 2  # seconds that a save takes
        return {}, {}

    for now[0] in (0, 3, 41, 42.5, 50, 84):
        snapshot.save_if_due(state)
    assert saved == [0, 42.5]  # 40 seconds after the end of a save


def test_without_a_folder_nothing_is_kept():
    snapshot = Snapshot(None)
    snapshot.save_if_due(lambda: 1 / 0)
    assert snapshot.load() is None


def test_an_array_is_computed_once_and_found_again(tmp_path):
    filled = []

    def fill(array):
        filled.append(array.shape)
        array[...] = np.arange(6).reshape(2, 3)

    arrays = [
        computed_once(folder, "x", (2, 3), np.float16, fill)
        for folder in (tmp_path, tmp_path, None)
    ]
    for array in arrays:
        np.testing.assert_array_equal(array, np.arange(6, dtype=np.float16).reshape(2, 3))
    assert len(filled) == 2  # the file's, and that in memory


def test_an_array_whose_computation_was_killed_is_computed_again(tmp_path):
    def killed(array):
        array[0] = 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computed_once(tmp_path, "x", (2,), np.float32, killed)
    found = computed_once(tmp_path, "x", (2,), np.float32, lambda array: array.fill(2))
    np.testing.assert_array_equal(found, [2, 2])


@pytest.mark.parametrize("content", [b"", b"cut"])
def test_a_damaged_array_is_named_and_computed_again(tmp_path, capsys, content):
    how = ("x", (2,), np.float32, lambda array: array.fill(2))
    computed_once(tmp_path, *how)
    (tmp_path / "x.npy").write_bytes(content)
    np.testing.assert_array_equal(computed_once(tmp_path, *how), [2, 2])
    assert f"{tmp_path / 'x.npy'}: damaged, and set aside" in capsys.readouterr().err
