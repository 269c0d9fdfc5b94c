import json

import h5py
import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from crossmodal.evaluation import similarity_matrix
from crossmodal.evaluation.similarity_matrix import draw_similarity_matrix, first_scores

OWNERS = {"image": np.arange(8), "text": np.arange(8).repeat(3)}


@pytest.fixture
def embeddings(tmp_path, rng):
    """Of eight items with an image and three texts each."""
    path = tmp_path / "seed0.h5"
    with h5py.File(path, "w") as file:
        options = {"dims": 2, "ridge": 0.0, "power": 1.0}
        file.attrs["model"] = json.dumps({"plugin": "cca", "options": options})
        file.attrs["modalities"] = list(OWNERS)
        for split in ("validation", "test"):
            for modality, items in OWNERS.items():
                group = file.create_group(f"{split}/{modality}")
                group["items"] = items
                group["embeddings"] = rng.standard_normal((len(items), 4), np.float32)
    return path


def test_scores_are_those_of_the_first_row_of_the_first_items(embeddings, monkeypatch):
    monkeypatch.setattr(similarity_matrix, "ITEMS", 5)
    modalities, found = first_scores(embeddings)
    with h5py.File(embeddings) as file:
        image, text = (file[f"test/{m}/embeddings"][()] for m in OWNERS)
    assert modalities == ("image", "text")
    np.testing.assert_allclose(found, cosine_similarity(image[:5], text[::3][:5]), atol=1e-6)


def test_the_picture_is_labelled_and_the_same_each_time(embeddings, tmp_path):
    paths = [tmp_path / name for name in ("first.svg", "again.svg")]
    for path in paths:
        draw_similarity_matrix(path, embeddings, "Toy")
    first, again = (path.read_bytes() for path in paths)
    assert first == again
    for label in (b"Toy", b"image, by item", b"text, by item", b"<image"):
        assert label in first
