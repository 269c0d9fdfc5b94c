import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.search.gallery import Gallery
from crossmodal.search.index import Hit, open_index
from crossmodal.vectors import inner_product

SCORES = {
    "cosine": inner_product,
    "euclidean": lambda q, g: -np.square(q[:, None] - g).sum(-1),
    "maps": lambda q, g: np.einsum("qld,gtd->qglt", q, g).max(-1).mean(-1),
}


class Rows(Gallery):
    """A gallery of given embeddings that counts how often it is embedded."""

    modality = "image"

    def __init__(self, name, rows):
        self.name, self.rows, self.state, self.embedded = name, rows, 0, 0

    def stamp(self):
        return [self.state]

    def embed(self, model):
        self.embedded += 1
        return [f"ä{row}" for row in range(len(self.rows))], self.rows

    text = labels = media = None


@pytest.fixture
def searched(tmp_path):
    """Makes a function that opens the index of some rows anew."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model.json", "model.safetensors"):
        (folder / name).write_text("")

    def make(rows, kind="cosine"):
        score = SCORES[kind]
        model = SimpleNamespace(score=lambda q, g, _: score(q, g), facts={"plugin": kind})
        gallery = Rows(kind, rows)
        root = tmp_path / "indexes"
        return SimpleNamespace(
            open=lambda query="text": open_index(folder, model, gallery, query, root),
            gallery=gallery,
            folder=folder,
            root=root,
        )

    return make


@pytest.mark.parametrize(
    ("kind", "shape"), [("cosine", (9,)), ("euclidean", (9,)), ("maps", (4, 9))]
)
def test_what_is_found_is_what_the_score_says(searched, rng, kind, shape):
    rows = rng.standard_normal((30, *shape)).astype(np.float32)
    query = rng.standard_normal((1, *shape)).astype(np.float32)
    scores = SCORES[kind](query, rows)[0]
    expected = np.argsort(-scores)[:4]
    found = searched(rows, kind).open().search(query, 4, threads=2)
    assert [hit.id for hit in found] == [f"ä{row}" for row in expected]
    np.testing.assert_allclose([hit.score for hit in found], scores[expected], rtol=1e-5)


def test_an_index_is_built_once_and_again_when_an_input_changes(searched, rng):
    made = searched(rng.standard_normal((5, 3)).astype(np.float32))
    for _ in range(2):
        assert len(made.open()) == 5
    assert made.gallery.embedded == 1
    made.gallery.state, made.gallery.rows = 1, made.gallery.rows[:4]
    assert len(made.open()) == 4
    os.utime(made.folder / "model.safetensors", (0, 0))
    made.open()
    assert made.gallery.embedded == 3
    assert len(list(made.root.iterdir())) == 1
    made.open("image")
    assert len(list(made.root.iterdir())) == 2


def test_nothing_is_embedded_where_no_index_can_be_written(searched, rng):
    index = searched(rng.standard_normal((9, 4)))
    index.root.write_text("a file instead of the folder")
    with pytest.raises(FileExistsError):
        index.open()
    assert index.gallery.embedded == 0


def test_nothing_is_left_of_an_index_that_fails(searched, rng, monkeypatch):
    made = searched(rng.standard_normal((5, 3)).astype(np.float32))
    monkeypatch.setattr("crossmodal.search.index.write_json", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.open()
    assert not list(made.root.iterdir())


def test_an_index_that_another_process_wrote_is_read(searched, rng):
    made = searched(rng.standard_normal((5, 3)).astype(np.float32))
    embed = made.gallery.embed

    def slowly(model):
        made.gallery.embed = embed
        made.open()
        return embed(model)

    made.gallery.embed = slowly
    assert len(made.open()) == 5
    assert len(list(made.root.iterdir())) == 1


def test_what_a_killed_process_left_is_removed(searched, rng):
    made = searched(rng.standard_normal((5, 3)).astype(np.float32))
    (made.root / ".unfinished-killed").mkdir(parents=True)
    made.open()
    assert [path.name[0] for path in made.root.iterdir()] != ["."]
    assert len(list(made.root.iterdir())) == 1


@pytest.mark.parametrize("content", [b"{}", b"", b"[1]", None])
@pytest.mark.parametrize("name", ["rows.npy", "ids.npy", "index.json"])
def test_a_corrupt_index_is_named(searched, rng, name, content):
    made = searched(rng.standard_normal((5, 3)).astype(np.float32))
    made.open()
    (path,) = made.root.glob(f"*/{name}")
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CrossmodalError, match="delete it"):
        made.open()


def test_an_index_with_rows_cut_off_is_named(searched, rng):
    made = searched(rng.standard_normal((5, 3)).astype(np.float32))
    made.open()
    (path,) = made.root.glob("*/rows.npy")
    np.save(path, np.load(path)[:3])
    with pytest.raises(CrossmodalError, match="delete it"):
        made.open()


def test_approximate_search_finds_most_and_scores_exactly(searched, rng, capsys):
    pytest.importorskip("faiss")
    turn = rng.standard_normal((4, 32))
    rows = (rng.standard_normal((4_000, 4)) @ turn).astype(np.float32)
    index = searched(rows).open()
    shares = []
    for query in (rng.standard_normal((20, 4)) @ turn).astype(np.float32):
        exact, near = ([*index.search(query[None], 10, approximate=a)] for a in (False, True))
        scores = {hit.id: hit.score for hit in index.search(query[None], 4_000)}
        assert [hit.score for hit in near] == pytest.approx([scores[hit.id] for hit in near])
        shares.append(len({*exact_ids(exact)} & {*exact_ids(near)}) / 10)
    assert np.mean(shares) > 0.9
    assert capsys.readouterr().err.count("recall@10") == 1


def exact_ids(hits: list[Hit]):
    return [hit.id for hit in hits]


def test_approximate_search_of_few_rows_finds_all(searched, rng):
    pytest.importorskip("faiss")
    rows = rng.standard_normal((3, 8)).astype(np.float32)
    found = searched(rows).open().search(rows[:1], 10, approximate=True)
    assert sorted(hit.id for hit in found) == ["ä0", "ä1", "ä2"]


def test_approximate_search_wants_inner_products_and_faiss(searched, rng, monkeypatch):
    rows = rng.standard_normal((5, 3)).astype(np.float32)
    with pytest.raises(CrossmodalError, match="euclidean: the score is no inner product"):
        searched(rows, "euclidean").open().search(rows[:1], 1, approximate=True)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(CrossmodalError, match=r"pip install 'crossmodal-retrieval\[faiss\]'"):
        searched(rows).open().search(rows[:1], 1, approximate=True)
