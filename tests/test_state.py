import numpy as np

from crossmodal import state
from crossmodal.state import StateFile


def test_a_state_comes_back_in_another_process(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "SECONDS", 0)
    assert StateFile(tmp_path).load() is None
    StateFile(tmp_path).save_if_due(lambda: ({"x": np.arange(3)}, {"curve": [{"loss": 0.1}]}))
    arrays, facts = StateFile(tmp_path).load()
    np.testing.assert_array_equal(arrays["x"], np.arange(3))
    assert facts == {"curve": [{"loss": 0.1}]}


def test_a_state_is_saved_only_now_and_then(tmp_path, monkeypatch):
    saved = []
    file = StateFile(tmp_path)
    for _ in range(3):
        file.save_if_due(lambda: saved.append(0) or ({}, {}))
    assert not saved
    monkeypatch.setattr(state, "SECONDS", 0)
    file.save_if_due(lambda: saved.append(0) or ({"x": np.zeros(1)}, {}))
    assert saved == [0]


def test_without_a_folder_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(state, "SECONDS", 0)
    file = StateFile(None)
    file.save_if_due(lambda: 1 / 0)
    assert file.load() is None
