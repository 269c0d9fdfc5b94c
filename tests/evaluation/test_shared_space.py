import xml.etree.ElementTree as ElementTree

import h5py
import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.shared_space import draw_shared_space

NAMES = ["bird", "sea & sky"]


def embeddings(path, rng, labels=None, shape=(8, 4)):
    """Two modalities of a run."""
    labels = np.eye(2, dtype=bool)[np.arange(8) % 2] if labels is None else labels
    with h5py.File(path, "w") as file:
        file.attrs["labels"], file.attrs["modalities"] = NAMES, ["image", "text"]
        for modality in ("image", "text"):
            group = file.create_group(f"test/{modality}")
            group["embeddings"] = rng.standard_normal(shape).astype(np.float32)
            group["labels"] = labels
    return path


def test_categories_and_modalities_are_told(tmp_path, rng):
    source = embeddings(tmp_path / "seed0.h5", rng)
    draw_shared_space(tmp_path / "space.svg", source, "Toy")
    tree = ElementTree.parse(tmp_path / "space.svg")
    texts = {"".join(n.itertext()).strip() for n in tree.iter() if n.tag.endswith("}text")}
    assert {*NAMES, "Toy", "o: image, x: text"} <= texts


def test_a_split_without_single_labels_is_told(tmp_path, rng):
    source = embeddings(tmp_path / "seed0.h5", rng, labels=np.ones((8, 2), bool))
    with pytest.raises(CrossmodalError, match="no item of the test split has just one label"):
        draw_shared_space(tmp_path / "space.svg", source, "Toy")


def test_embeddings_that_are_no_vectors_are_told(tmp_path, rng):
    source = embeddings(tmp_path / "seed0.h5", rng, shape=(8, 4, 3))
    with pytest.raises(CrossmodalError, match="not vectors of one space"):
        draw_shared_space(tmp_path / "space.svg", source, "Toy")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "seed0.h5").write_bytes(b"no such thing")
    with pytest.raises(CrossmodalError, match=r"seed0\.h5: not a whole embedding file"):
        draw_shared_space(tmp_path / "space.svg", tmp_path / "seed0.h5", "Toy")
