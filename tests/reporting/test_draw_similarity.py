from pathlib import Path

import h5py
import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from crossmodal.reporting import draw_similarity as step
from crossmodal.workflow.report_specs import Similarity


def test_the_picture_has_one_row_of_each_item_in_both_views(run_toy, monkeypatch):
    run, drawn = run_toy(), []
    monkeypatch.setattr(step, "draw_matrix", lambda *what: drawn.append(what))
    monkeypatch.setattr(step, "ITEMS", 10)
    columns, rows = step.draw_similarity(Similarity(title="Toy"), Path("toy.svg"), [run.embeddings])
    with h5py.File(run.embeddings) as file:
        image, text = (file["test"][m] for m in ("image", "text"))
        owners = text["items"][()]
        first = [np.flatnonzero(owners == item)[0] for item in range(10)]
        expected = cosine_similarity(image["embeddings"][:10], text["embeddings"][()][first])
    ((path, values, title, axes),) = drawn
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert (columns, rows) == ([*map(str, range(10))], values.tolist())
    assert (path, title) == (Path("toy.svg"), "Toy")
    assert axes == ("number of the text", "of the image")
