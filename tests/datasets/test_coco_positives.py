import json
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from crossmodal.data.qrels import Judgement
from crossmodal.datasets import _coco_positives
from crossmodal.datasets._coco_positives import judgements, positive_files
from crossmodal.errors import CrossmodalError
from crossmodal.metrics.judged import summary, values_of

NEEDS = "needs the package eccv_caption"


def test_answers_have_our_ids_and_strangers_are_left_out(tmp_path):
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"7": [1, "2", 9, 1]}))
    found = judgements(path, {7: "image"}, {1: "image#0", 2: "other#4"})
    assert [*found] == [Judgement("image", "image#0"), Judgement("image", "other#4")]


@pytest.mark.parametrize("text", ["[]", "{", '{"8": [1]}', '{"7": 1}', '{"seven": [1]}'])
def test_another_file_is_refused_with_its_name(tmp_path, text):
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(CrossmodalError, match=r"some\.json: is not a file of positives"):
        [*judgements(path, {7: "image"}, {1: "image#0"})]


def test_plausible_matches_are_files_of_the_dataset(tmp_path):
    found = positive_files("plausible", tmp_path)
    assert found == [tmp_path / "pm_image_to_caption.json", tmp_path / "pm_caption_to_image.json"]


def test_a_lacking_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_coco_positives, "PACKAGE", "no_such_package")
    with pytest.raises(CrossmodalError, match=r"pip install crossmodal-retrieval\[eccv\]"):
        positive_files("eccv", tmp_path)


@pytest.mark.parametrize("name", ["eccv", "cxc"])
def test_values_on_random_scores_are_those_of_the_package(name, rng):
    """Its own metrics, of its own lists of ranked ids."""
    package = pytest.importorskip("eccv_caption", reason=NEEDS)
    folder = Path(package.__file__).parent / "data"
    images, captions = (
        np.array([*map(int, json.loads((folder / f"original_{way}.json").read_text()))])
        for way in ("image_to_caption", "caption_to_image")
    )
    theirs = package.Metrics()
    positives = {"i2t": theirs.eccv_gts["i2t"], "t2i": theirs.eccv_gts["t2i"]}
    if name == "eccv":
        inside = {*captions.tolist()}
        kept = {i: [c for c in own if c in inside] for i, own in positives["i2t"].items()}
        assert sum(map(len, positives["i2t"].values())) - sum(map(len, kept.values())) == 2
        theirs.eccv_gts["i2t"] = kept
    ids = [{int(id): str(id) for id in side} for side in (images, captions)]
    ranked, ours = {}, {}
    for way, path, sides in zip(
        ("i2t", "t2i"),
        positive_files(name, Path()),
        ((images, captions), (captions, images)),
        strict=True,
    ):
        own = ids if way == "i2t" else ids[::-1]
        places = [{str(id): row for row, id in enumerate(side)} for side in sides]
        pairs = [(places[0][j.query], places[1][j.document]) for j in judgements(path, *own)]
        rows, columns = np.array(pairs).T
        shape = len(sides[0]), len(sides[1])
        grades = sparse.csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)
        asked = np.unique(rows)[:: 1 if name == "eccv" else 40]
        related = grades[asked].toarray()
        # so many of the positives come early that no metric is near zero
        scores = rng.random(related.shape, np.float32) + 0.6 * related * rng.random(related.shape)
        ours[way] = summary(values_of(scores, related), shape[1])
        order = np.argsort(-scores, axis=1)
        queries = sides[0][asked].tolist()
        ranked[way] = {q: sides[1][o].tolist() for q, o in zip(queries, order, strict=True)}
    if name == "eccv":
        expected = theirs.eccv_metrics(ranked, "all")
        names = {"eccv_map_at_r": "mAP@R", "eccv_rprecision": "R-precision"}
        for theirs_name, name_here in names.items():
            for way in ("i2t", "t2i"):
                assert ours[way][name_here] == pytest.approx(expected[theirs_name][way])
    else:
        for way, lists in ranked.items():
            theirs.cxc_gts[way] = {q: theirs.cxc_gts[way][q] for q in lists}
    recall = theirs.eccv_recalls if name == "eccv" else theirs.cxc_recalls
    for k in (1, 5, 10):
        for way, value in recall(ranked, "all", K=k).items():
            assert 0.05 < value < 1
            assert ours[way][f"R@{k}"] == pytest.approx(100 * value)


def test_the_files_of_the_package_are_the_known_ones():
    try:
        metadata.distribution("eccv_caption")
    except metadata.PackageNotFoundError:
        pytest.skip(NEEDS)
    for name in _coco_positives.PACKED:
        assert [path.exists() for path in positive_files(name, Path())] == [True, True]
