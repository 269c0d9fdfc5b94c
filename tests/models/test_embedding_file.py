import json

import h5py
import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.learning.pair_scorer import PairScorer
from crossmodal.methods.cca import CCA
from crossmodal.models.embedding_file import (
    SPLITS,
    read_embedded_rows,
    read_embeddings,
    write_embeddings,
)
from crossmodal.steps.embed import open_run
from crossmodal.vectors import inner_product


def test_a_run_comes_back_with_its_method_and_both_splits(run_toy):
    run = run_toy()
    found = read_embeddings(run.embeddings)
    assert found.facts == json.loads(run.model.with_suffix(".json").read_text())["fit"]
    assert list(found.splits) == ["validation", "test"]
    assert found.directions() == [("image", "text"), ("text", "image")]
    assert {m: len(ids) for m, ids in found.ids.items()} == {"image": 24, "text": 48}
    items = set(found.ids["image"])
    assert all(caption.split("#")[0] in items for caption in found.ids["text"])


def test_scores_are_those_of_the_method_in_any_slice(run_toy):
    found = read_embeddings(run_toy().embeddings)
    image, text = (found.splits["test"][m].embeddings for m in ("image", "text"))
    expected = inner_product(image, text)
    scores = found.scorer("test", "image", "text")(slice(3, 7))
    np.testing.assert_allclose(scores, expected[3:7], rtol=1e-6)


def test_cosines_are_computed_without_the_method(run_toy, monkeypatch):
    path = run_toy().embeddings
    expected = read_embeddings(path).scorer("test", "text", "image")(slice(5))
    monkeypatch.setattr("crossmodal.models.embedding_file.plugins", None)
    found = read_embeddings(path).scorer("test", "text", "image")(slice(5))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("earlier", [False, True])
def test_a_method_of_another_score_is_asked_for_it(run_toy, monkeypatch, earlier):
    path = run_toy().embeddings
    with h5py.File(path, "r+") as file:
        del file.attrs["score"]
        if not earlier:
            file.attrs["score"] = '"own"'
    monkeypatch.setattr(CCA, "score", lambda self, queries, gallery, direction: queries @ gallery.T)
    found = read_embeddings(path)
    image, text = (found.splits["test"][m].embeddings for m in ("image", "text"))
    scores = found.scorer("test", "image", "text")(slice(None))
    np.testing.assert_array_equal(scores, image @ text.T)


class Bilinear(PairScorer, CCA):
    """Scores by a matrix that it learnt, which no embedding has."""

    def scoring_state(self):
        return {"matrix": self.matrix}

    def restore_scoring(self, state):
        self.matrix = state["matrix"]

    def score_pairs(self, first, second):
        return first @ self.matrix @ second.T


def test_a_score_with_weights_of_its_own_finds_them(run_toy, monkeypatch, rng):
    run = run_toy()
    fitted, splits, made = open_run(run.spec, run.data.folder, run.data.features, run.model, SPLITS)
    options = fitted.facts["options"]
    method = Bilinear(**options)
    method.arrays, method.matrix = fitted.method.arrays, rng.standard_normal((options["dims"],) * 2)
    write_embeddings(run.embeddings, fitted.facts, method, splits, made)
    found = read_embeddings(run.embeddings)
    monkeypatch.setattr("crossmodal.config.plugins.make", lambda *_: Bilinear(**options))
    image, text = (found.splits["test"][m].embeddings for m in ("image", "text"))
    scores = found.scorer("test", "image", "text")(slice(2, 9))
    np.testing.assert_array_equal(scores, image[2:9] @ method.matrix @ text.T)


@pytest.mark.parametrize("labelled", [True, False])
def test_labels_count_where_there_are_any(run_toy, labelled):
    assert read_embeddings(run_toy(labelled).embeddings).by_label == labelled


def test_a_flipped_bit_is_noticed_or_harmless(run_toy):
    path = run_toy().embeddings
    content, whole = path.read_bytes(), read_embeddings(path)
    noticed = 0
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            found = read_embeddings(path)
        except CrossmodalError as error:
            noticed += "corrupt" in str(error)
        else:
            assert (found.facts, found.ids) == (whole.facts, whole.ids)
            for split, pools in whole.splits.items():
                for modality, pool in pools.items():
                    same = found.splits[split][modality]
                    np.testing.assert_array_equal(same.embeddings, pool.embeddings)
                    np.testing.assert_array_equal(same.items, pool.items)
                    np.testing.assert_array_equal(same.labels, pool.labels)
    assert noticed > 50


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ids", lambda ids: ids[5:]),
        ("items", lambda items: items[5:]),
        ("items", lambda items: items[:, None]),
        ("items", lambda items: items.astype(float)),
        ("labels", lambda labels: labels[5:]),
        ("labels", lambda labels: labels[:, 1:]),
        ("labels", lambda labels: labels[:, 0]),
        ("embeddings", lambda rows: rows[5:]),
        ("embeddings", lambda rows: rows[:, 1:]),
        ("embeddings", lambda rows: rows[:, 0]),
        ("embeddings", lambda rows: rows * np.nan),
        ("embeddings", lambda rows: rows[..., None]),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(run_toy, name, change):
    path = run_toy().embeddings
    with h5py.File(path, "r+") as file:
        content = file[f"test/image/{name}"][()]
        del file[f"test/image/{name}"]
        file[f"test/image/{name}"] = change(content)
    with pytest.raises(CrossmodalError, match=r"seed0\.h5: corrupt"):
        read_embeddings(path)


@pytest.mark.parametrize("name", ["ids", "embeddings"])
def test_rows_without_ids_are_not_searched(run_toy, name):
    path = run_toy().embeddings
    with h5py.File(path, "r+") as file:
        content = file[f"test/image/{name}"][()]
        del file[f"test/image/{name}"]
        file[f"test/image/{name}"] = content[5:]
    with pytest.raises(CrossmodalError, match=r"seed0\.h5: corrupt"):
        read_embedded_rows(path, "test", "image")


@pytest.mark.parametrize("name", ["ids", "items", "labels", "embeddings"])
def test_entries_of_any_length_are_not_read(run_toy, name):
    path = run_toy().embeddings
    with h5py.File(path, "r+") as file:
        shape = file[f"test/image/{name}"].shape
        del file[f"test/image/{name}"]
        kind = h5py.string_dtype() if name == "ids" else h5py.vlen_dtype(float)
        file.create_dataset(f"test/image/{name}", shape, kind)
    with pytest.raises(CrossmodalError, match=f"image/{name} has entries of different lengths"):
        read_embeddings(path)


def test_two_modalities_that_differ_are_needed(run_toy):
    path = run_toy().embeddings
    with h5py.File(path, "r+") as file:
        file.attrs["modalities"] = '["image", "image"]'
    with pytest.raises(CrossmodalError, match=r"seed0\.h5: corrupt"):
        read_embeddings(path)


@pytest.mark.parametrize("content", [None, b"", b"no HDF5"])
def test_a_missing_or_corrupt_file_is_named(tmp_path, content):
    path = tmp_path / "seed0.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"seed0\.h5"):
        read_embeddings(path)
