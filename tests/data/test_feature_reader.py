import tracemalloc

import numpy as np
import pytest
import torch

from crossmodal.data.feature_file import Ragged, write_features
from crossmodal.data.feature_reader import FileRagged, read_features
from crossmodal.images.prefetch import prefetched

ROWS, WIDTH = 5_000, 2_500


@pytest.mark.parametrize("ragged", [False, True])
def test_a_split_is_read_in_memory_for_one_copy_of_its_rows(tmp_path, ragged):
    chunk = np.ones((ROWS // 10, WIDTH), np.float32)  # 50 MB in all
    rows = Ragged.concatenate(chunk[:, :, None]) if ragged else chunk
    ids = [str(row) for row in range(ROWS)]
    write_features(tmp_path / "a.h5", ids, ids, [rows] * 10, {})
    kept = [id for id in ids if int(id) % 5]
    tracemalloc.start()
    try:
        found = read_features(tmp_path / "a.h5", kept)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.ids) == len(kept)
    assert peak < 1.2 * 4 * len(kept) * WIDTH


def test_image_files_in_features_are_read_by_all_processes(tmp_path, rng, monkeypatch):
    files = [rng.integers(256, size=size, dtype=np.uint8) for size in (5, 1, 0, 9)]
    write_features(tmp_path / "a.h5", list("abcd"), list("abcd"), [Ragged.concatenate(files)], {})
    monkeypatch.setattr("crossmodal.data.feature_reader.IN_MEMORY", 10)
    found = read_features(tmp_path / "a.h5", ["d", "b", "c", "a"]).features
    assert isinstance(found, FileRagged)
    assert found.lengths.tolist() == [9, 1, 0, 5]
    for workers in (0, 2):
        read = prefetched(lambda row: torch.tensor(found[row]), [(n,) for n in range(4)], workers)
        assert [x.tolist() for x in read] == [files[row].tolist() for row in (3, 1, 2, 0)]
    assert [bytes(x) for x in found.take(np.array([3, 0]))] == [bytes(files[0]), bytes(files[3])]
