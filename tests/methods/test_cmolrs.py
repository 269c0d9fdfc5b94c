import math

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from crossmodal.config import plugins
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.io.snapshots import Snapshot
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.cmolrs import CMOLRS
from crossmodal.methods.full_sgd import FullSGD

I2T, T2I = ("image", "text"), ("text", "image")
SHARED = {
    "step_size": 1.0,
    "margin_scale": 5.0,
    "margin_base": 0.0,
    "feature_weight": 0.5,
    "triplets_per_query": 4,
    "triplets": 8002,
    "scaling": "zscore-l2",
    "pca_energy": None,
}
OPTIONS = SHARED | {"rank": 3, "within": "first"}


def make_split(seed, captions=1, count=90):
    """Four classes with noisy prototypes in both modalities; several texts per item."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, count)
    prototypes = np.random.default_rng(0).standard_normal((4, 12))
    owners = np.repeat(np.arange(count), captions)
    image = prototypes[kinds, :7] + rng.normal(0, 0.3, (count, 7)) + 2
    text = prototypes[kinds[owners], 7:] + rng.normal(0, 0.3, (count * captions, 5))
    views = {
        "text": View(text, owners, [str(r) for r in range(len(owners))], {}),
        "image": View(image, np.arange(count), [str(r) for r in range(count)], {}),
    }
    return Split([str(i) for i in range(count)], np.eye(4, dtype=bool)[kinds], views)


def make(kind=CMOLRS, **options):
    return kind(**(OPTIONS if kind is CMOLRS else SHARED) | options)


def fitted(train=None, seed=0, kind=CMOLRS, **options):
    method, run = make(kind, **options), Run(seed)
    method.fit(train or make_split(1), make_split(2), run)
    return method, run


def precision_at_ten(method, split, direction):
    query, gallery = (split.views[modality] for modality in direction)
    scores = method.score(
        method.embed(direction[0], query), method.embed(direction[1], gallery), direction
    )
    best = np.argsort(-scores, axis=1)[:, :10]
    kinds = split.labels.argmax(axis=1)
    return np.mean(kinds[gallery.items][best] == kinds[query.items][:, None])


@pytest.fixture(params=[CMOLRS, FullSGD], ids=["cmolrs", "full_sgd"])
def kind(request):
    return request.param


@pytest.mark.parametrize("captions", [1, 3])
@pytest.mark.parametrize("pca_energy", [None, 0.99])
def test_unseen_items_of_the_same_class_are_found(kind, captions, pca_energy):
    method, _ = fitted(make_split(1, captions), kind=kind, pca_energy=pca_energy)
    test = make_split(2, captions)
    assert precision_at_ten(method, test, I2T) > 0.9  # chance is 0.25
    assert precision_at_ten(method, test, T2I) > 0.9


def test_each_direction_scores_by_its_half_of_the_embedding():
    a, b, c, d = np.random.default_rng(0).standard_normal((4, 6, 3))
    image, text = np.hstack([a, b]), np.hstack([c, d])
    np.testing.assert_allclose(make().score(image, text, I2T), a @ c.T)
    np.testing.assert_allclose(make().score(text, image, T2I), d @ b.T)


def test_a_map_shows_the_model_of_text_to_image():
    method, test = fitted()[0], make_split(2)
    text, image = (method.map_part(method.embed(m, test.views[m])) for m in T2I)
    scores = method.score(*(method.embed(m, test.views[m]) for m in T2I), T2I)
    np.testing.assert_allclose(text @ image.T, scores, rtol=1e-5)


def test_the_curve_has_each_direction(kind):
    row = fitted(kind=kind)[1].curve[-1]
    for column, combine in (("seconds", np.sum), ("validation", np.mean)):
        parts = [row[f"{column} {'-to-'.join(pair)}"] for pair in (I2T, T2I)]
        assert row[column] == pytest.approx(combine(parts))
        assert min(parts) > 0


def test_direction_fails_with_swapped_factors():
    method, _ = fitted()
    test = make_split(2)
    method.arrays["image.factors"][:, :3] *= -1  # spoils the first model, image to text
    assert precision_at_ten(method, test, I2T) < 0.25
    assert precision_at_ten(method, test, T2I) > 0.9


def test_score_is_the_plain_bilinear_form_of_the_scaled_features():
    method, _ = fitted()
    split = make_split(2)
    scaled = {}
    for modality, view in split.views.items():
        of = {name: method.arrays[f"{modality}.{name}"] for name in ("mean", "scale")}
        rows = (view.features - of["mean"]) / of["scale"]
        scaled[modality] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    W = method.arrays["image.factors"][:, :3] @ method.arrays["text.factors"][:, :3].T
    found = method.score(*(method.embed(m, split.views[m]) for m in I2T), I2T)
    np.testing.assert_allclose(found, scaled["image"] @ W @ scaled["text"].T, rtol=1e-3, atol=1e-3)


def test_statistics_come_from_the_training_rows():
    train = make_split(1)
    method, _ = fitted(train)
    features = train.views["image"].features
    np.testing.assert_allclose(method.arrays["image.mean"], features.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(method.arrays["image.scale"], features.std(axis=0), rtol=1e-5)


def test_the_seed_decides_the_result():
    one, same, other = (fitted(seed=seed)[0].arrays["text.factors"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_a_restored_method_embeds_the_same(kind):
    method, _ = fitted(kind=kind, pca_energy=0.9)
    view = make_split(2).views["image"]
    again = make(kind)
    again.restore(method.state(), {"image": view})
    np.testing.assert_array_equal(again.embed("image", view), method.embed("image", view))


def test_the_curve_covers_all_triplets_and_the_loss_falls(kind):
    method, run = fitted(kind=kind)
    for column in ("triplets", "seconds"):
        values = [row[column] for row in run.curve]
        assert values == sorted(values)
    assert run.curve[-1]["triplets"] == 8004  # whole lists of four
    assert run.curve[-1]["loss"] < 0.5 * run.curve[0]["loss"]
    # the last iterate is kept, so its score is that of the model
    assert run.curve[-1]["validation"] == selection_score(method, make_split(2))


@pytest.mark.parametrize("chunks", [1, 13, 20])
def test_resumed_fit_equals_an_uninterrupted_one(kind, chunks, tmp_path, monkeypatch):
    monkeypatch.setattr("crossmodal.io.snapshots.SHARE", math.inf)
    whole, expected = fitted(kind=kind)
    run, method = Run(0, tmp_path), make(kind)

    save = Snapshot.save_if_due

    def stop(self, state):
        save(self, state)
        if len(run.curve) == chunks:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "save_if_due", stop)
        with pytest.raises(KeyboardInterrupt):
            method.fit(make_split(1), make_split(2), run)
    method, run = make(kind), Run(0, tmp_path)
    method.fit(make_split(1), make_split(2), run)
    for row in (*run.curve, *expected.curve):
        for column in [name for name in row if name.startswith("seconds")]:
            assert row.pop(column) > 0
    assert run.curve == expected.curve
    for name, array in whole.state().items():
        np.testing.assert_array_equal(method.state()[name], array)


def test_a_stream_is_learnt_as_it_comes_and_after_restoring(kind):
    method, run, test = make(kind), Run(0), make_split(9)
    for seed in range(3):
        method.partial_fit(make_split(seed), 2000, run)
    restored = make(kind)
    restored.restore(method.state(), test.views)
    before = method.state()
    np.testing.assert_array_equal(
        restored.embed("text", test.views["text"]), method.embed("text", test.views["text"])
    )
    first = restored.partial_fit(make_split(3), 400, run)["loss"]
    assert first < 0.5 * make(kind).partial_fit(make_split(3), 400, run)["loss"]
    for seed in range(4, 7):
        restored.partial_fit(make_split(seed), 2000, run)
    np.testing.assert_array_equal(restored.state()["text.mean"], before["text.mean"])
    assert precision_at_ten(restored, test, I2T) > 0.9
    assert precision_at_ten(restored, test, T2I) > 0.9


def test_a_stored_method_goes_on_as_if_it_had_not_been_stored(kind, tmp_path):
    method, _ = fitted(kind=kind, triplets=400)
    for seed in (3, 4):
        save_file(method.state(), tmp_path / "state.safetensors")
        restored = make(kind, triplets=400)
        restored.restore(load_file(tmp_path / "state.safetensors"), {})
        for stream in (method, restored):
            stream.partial_fit(make_split(seed), 402, Run(0))
        for name, array in method.state().items():
            np.testing.assert_array_equal(restored.state()[name], array)


def test_one_pair_after_the_other_is_learnt(kind):
    train, test = make_split(1, count=200), make_split(9)
    method = make(kind)
    method.partial_fit(_part(train, slice(0, 20)), 400, Run(0))
    for row in range(20, 200):
        found = method.partial_fit(_part(train, slice(row, row + 1)), 40, Run(0))
    assert found["loss"] < 1
    assert precision_at_ten(method, test, I2T) > 0.9
    assert precision_at_ten(method, test, T2I) > 0.9


def _part(split, rows):
    size = len(split.items[rows])
    views = {
        m: View(v.features[rows], np.arange(size), v.ids[rows], {}) for m, v in split.views.items()
    }
    return Split(split.items[rows], split.labels[rows], views)


def test_restoring_a_used_method_forgets_what_it_learnt_before(kind):
    (used, _), (other, _) = (fitted(make_split(seed), kind=kind, triplets=400) for seed in (1, 3))
    fresh = make(kind, triplets=400)
    for method in (used, fresh):
        method.restore(other.state(), make_split(2).views)
        method.partial_fit(make_split(4), 400, Run(0))
    for name, array in fresh.state().items():
        np.testing.assert_array_equal(used.state()[name], array)


@pytest.mark.parametrize(("within", "half"), [("first", slice(3)), ("second", slice(3, None))])
def test_intra_modal_scores_use_the_chosen_directions_factors(within, half):
    rows = np.random.default_rng(0).standard_normal((4, 6))
    for modality in ("image", "text"):
        found = make(within=within).score(rows, rows, (modality, modality))
        np.testing.assert_allclose(found, rows[:, half] @ rows[:, half].T)


def test_items_without_labels_do_not_disturb():
    train = make_split(1)
    train.labels[:10] = False
    method, _ = fitted(train)
    assert precision_at_ten(method, make_split(2), I2T) > 0.9


def test_sequences_are_an_error():
    train = make_split(1)
    sequences = Ragged.concatenate([row[:, None] for row in train.views["text"].features])
    view = train.views["text"]
    train.views["text"] = View(sequences, view.items, view.ids, {})
    with pytest.raises(CrossmodalError, match="one vector per row"):
        fitted(train)


def test_other_than_two_views_are_an_error():
    train = make_split(1)
    train.views["speech"] = train.views["text"]
    with pytest.raises(CrossmodalError, match=r"two views.*speech"):
        fitted(train)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("rank", 0),
        ("step_size", 0.0),
        ("feature_weight", 1.5),
        ("scaling", "l1"),
        ("triplets", 0),
    ],
)
def test_options_out_of_range_are_named(option, value):
    with pytest.raises(CrossmodalError, match=f"methods.cmolrs.{option}: "):
        plugins.make("methods", "cmolrs", OPTIONS | {option: value}, "methods.cmolrs")
