"""Online models go on learning, in parts or at once, to the same numbers."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from crossmodal.commands.update import Pairs, update
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_csv, read_json, write_json
from crossmodal.io.snapshots import Snapshot
from crossmodal.models.model_folder import read_model
from crossmodal.steps.extract import extract
from crossmodal.steps.train import train
from crossmodal.workflow.specs import ExtractSpec, TrainSpec
from tests.methods.test_cmolrs import OPTIONS, SHARED

ROOT = Path(__file__).parents[2]
SIZES = {"train": 60, "validation": 30, "test": 12}
KINDS = ("dog", "cat", "sea")
FEATURES = {
    "matrix": {"plugin": "published", "options": {"matrix": "matrix", "modality": "image"}},
    "bow": {
        "plugin": "bow",
        "options": {"size": 12, "weighting": "counts", "unit": "caption", "stop_words": False},
    },
}
METHODS = {
    "cmolrs": OPTIONS | {"triplets": 4, "rank": 3},
    "full_sgd": SHARED | {"triplets": 4},
    "cca": {"dims": 2, "ridge": 0.1, "power": 0.0},
}
WEIGHTS, BATCH, TRIPLETS = Path("weights"), 7, 40


def write(name, kinds=KINDS, seed=0, width=8):
    """A prepared dataset whose images and two captions per item tell its kind."""
    rng, folder = np.random.default_rng(seed), Path("data/prepared") / name
    splits = rng.permutation(np.repeat(list(SIZES), list(SIZES.values())))
    which = rng.integers(0, len(kinds), len(splits))
    with Writer(folder) as out:
        for n, (split, kind) in enumerate(zip(splits, which, strict=True)):
            out.item(f"item{n}", str(split), kinds[kind])
            for caption in range(2):
                words = " ".join(rng.choice(["a", "big", "red", "old"], 2))
                out.caption(f"item{n}#{caption}", f"item{n}", f"{kinds[kind]} {words}")
        centres = np.random.default_rng(1).standard_normal((9, width))
        out.published("matrix", centres[which] + rng.normal(0, 0.6, (len(splits), width)))
    return folder


def fit(method, name="toy"):
    folder, features = Path("data/prepared") / name, Path("features")
    for feature, spec in FEATURES.items():
        extract(ExtractSpec(**spec), features / f"{feature}.h5", folder, features, WEIGHTS)
    views = {"image": "matrix", "text": "bow"}
    spec = TrainSpec(
        plugin=method, options=METHODS[method], search={}, views=views, relevance="category"
    )
    model = Path("models") / method / "seed0/model.safetensors"
    train(spec, model, folder, features, WEIGHTS, 0)
    return model.parent


@pytest.fixture(params=["cmolrs", "full_sgd"])
def model(request):
    """A model that has learnt from one list of triplets, and a prepared dataset `toy`."""
    write("toy")
    return fit(request.param)


def run(model, output, dataset="toy", batch_size=BATCH, pairs=None, triplets=TRIPLETS):
    update(Path(model), dataset, Path(output), triplets, batch_size, pairs, WEIGHTS)
    return load_file(Path(output) / "model.safetensors")


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(other[name], array, err_msg=name)


@pytest.mark.parametrize("size", [1, BATCH])
def test_in_parts_the_model_is_that_of_learning_at_once(model, size):
    whole = run(model, "whole", batch_size=size)
    run(model, "first", batch_size=size, pairs=2 * BATCH)
    run("first", "second", batch_size=size, pairs=BATCH)
    assert_same(whole, run("second", "third", batch_size=size))
    assert read_json(Path("third/model.json"))["fit"]["seen"]["toy"]["pairs"] == 60


def test_a_killed_update_resumes_to_the_same_model(model, monkeypatch):
    whole = run(model, "whole")
    monkeypatch.setattr("crossmodal.io.snapshots.SHARE", math.inf)
    save, saved = Snapshot.save_if_due, []

    def stop(self, state):
        save(self, state)
        saved.append(state)
        if len(saved) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "save_if_due", stop)
        with pytest.raises(KeyboardInterrupt):
            run(model, "again")
    assert not Path("again").exists()
    batches = len(read_csv(Path("whole/curve.csv"), ["pairs"]))
    calls = []
    monkeypatch.setattr(Snapshot, "save_if_due", lambda self, state: calls.append(state))
    assert_same(whole, run(model, "again"))
    assert len(calls) == batches - 3


def score(folder, dataset="toy"):
    fitted = read_model(Path(folder))
    pairs = Pairs(Prepared(Path("data/prepared") / dataset), fitted, WEIGHTS, "test")
    split = next(pairs.batches(0, 12, 12))
    image, text = (fitted.method.embed(m, split.views[m]) for m in ("image", "text"))
    best = fitted.method.score(image, text, ("image", "text")).argmax(axis=1)
    return np.mean(
        split.labels.argmax(1) == split.labels[split.views["text"].items].argmax(1)[best]
    )


@pytest.mark.parametrize("size", [1, 20])
def test_new_pairs_are_learnt_from(model, size):
    run(model, "more", batch_size=size, triplets=40 * size)
    assert score("more") > max(0.8, score(model))
    curve = read_csv(Path("more/curve.csv"), ["pairs", "triplets", "loss", "violating", "seconds"])
    assert len(curve) == 60 // size
    assert (float(curve[-1]["pairs"]), float(curve[-1]["triplets"])) == (60, 40 * 60)


def test_the_model_that_is_updated_stays_as_it_is(model):
    before = {path: path.read_bytes() for path in model.iterdir()}
    run(model, "more")
    assert {path: path.read_bytes() for path in model.iterdir()} == before
    with pytest.raises(CrossmodalError, match="holds a model"):
        run(model, model)
    with pytest.raises(CrossmodalError, match="more: holds a model"):
        run(model, "more")


def test_update_keeps_features_and_appends_labels(model):
    write("others", kinds=("sea", "ant"), seed=5)
    run(model, "more", "others")
    found = read_model(Path("more"))
    assert found.labels == ("cat", "dog", "sea", "ant")
    assert found.views["text"].meta == read_model(model).views["text"].meta
    assert score("more", "others") > 0.8
    run("more", "then", "toy")  # whose pairs have less labels than the reservoir
    assert read_json(Path("then/model.json"))["fit"]["seen"].keys() == {"others", "toy"}


def test_pairs_of_one_label_wait_for_others(model):
    write("dogs", kinds=("dog",))
    before = load_file(model / "model.safetensors")
    found = run(model, "more", "dogs")
    np.testing.assert_array_equal(found["image.factors"], before["image.factors"])
    assert found["progress.image.reservoir.seen"] == 60
    assert read_csv(Path("more/curve.csv"), [])[-1]["loss"] == "0.0"


def test_what_cannot_be_updated_is_refused(model):
    run(model, "all")
    with pytest.raises(CrossmodalError, match="has seen all 60"):
        run("all", "more")
    run(model, "some", pairs=BATCH)
    write("toy", kinds=("dog", "ant"), seed=8)
    with pytest.raises(CrossmodalError, match="first 7 training pairs"):
        run("some", "more")
    write("wide", width=9)
    with pytest.raises(CrossmodalError, match=r"image features have 9 columns.* 8"):
        run(model, "more", "wide")
    with pytest.raises(CrossmodalError, match="crossmodal run --cores 8 data/prepared/none"):
        run(model, "more", "none")
    content = read_json(model / "model.json")
    del content["fit"]["relevance"]
    write_json(model / "model.json", content)
    with pytest.raises(CrossmodalError, match="'relevance'; train again"):
        run(model, "more")
    assert not Path("more").exists()


def test_other_methods_are_refused():
    write("toy")
    with pytest.raises(CrossmodalError, match=r"cca is no online method.*cmolrs"):
        run(fit("cca"), "more")


def test_the_example_draws_map_against_pairs_seen(monkeypatch):
    spec = importlib.util.spec_from_file_location("stream", ROOT / "tools/stream.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BATCH", 3)
    write("toy")
    module.stream(fit("cmolrs"), "toy", Path("stream"))
    rows = read_csv(Path("stream/mAP.csv"), ["pairs", "mAP"])
    assert [int(row["pairs"]) for row in rows] == [*range(0, 61, 6)]
    assert float(rows[-1]["mAP"]) > max(0.8, float(rows[0]["mAP"]))
    assert "pairs seen" in Path("stream/mAP.svg").read_text()
