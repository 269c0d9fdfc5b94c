import tracemalloc

import numpy as np
import pytest

from crossmodal.data.feature_file import Ragged, write_features
from crossmodal.data.feature_reader import read_features

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
