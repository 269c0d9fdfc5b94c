import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist, pdist
from torch.nn.functional import normalize

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.sam import SAM
from crossmodal.nn.losses import ranking_loss

pytestmark = pytest.mark.usefixtures("cpu")

MODALITIES = ("image", "text")
OPTIONS = {"dims": 16, "hidden": 32, "dropout": 0.1, "batch": 50, "epochs": 100}
OPTIONS |= {"margin": 1.0, "feature_share": 0.25, "activation": 0.4, "slope": 0.1}
OPTIONS |= {"schedule": "sigmoid"}
OPTIONS |= {"scaling": "raw", "learning_rate": 0.005, "momentum": 0.9, "decay": 1e-6}


@pytest.fixture
def categories(make_split):
    """Make splits whose items are noisy copies of their category's prototypes."""

    def make(seed, classes=4, count=120, captions=1):
        prototypes = np.random.default_rng(0).standard_normal((classes, 30)) * 2
        rng = np.random.default_rng([1, seed])
        kinds = np.arange(count) % classes
        views = {
            "image": prototypes[kinds, :18] + rng.standard_normal((count, 18)),
            "text": prototypes[kinds.repeat(captions), 18:]
            + rng.standard_normal((count * captions, 12)),
        }
        return make_split(views, np.eye(classes)[kinds])

    return make


def placed(split, **options):
    """A method with an untrained network, ready for its first batch."""
    method = SAM(**OPTIONS | options)
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def first_batch(method, epoch=0):
    return next(iter(method.batches(epoch, np.random.default_rng(epoch))))


def centroid_distances(make_split, labels, centroids):
    """f_mc between items, given the unit centroids of both views."""
    rows = np.arange(len(labels), dtype=float)[:, None]
    split = make_split(dict.fromkeys(MODALITIES, rows), labels)
    method = placed(split, feature_share=0.0)
    method.alpha = 1.0
    method.centroids = dict.fromkeys(MODALITIES, torch.tensor(centroids, dtype=torch.float32))
    return method.margins(torch.arange(len(labels))).numpy()


def reference_loss(method, split, rows, alpha):
    """Equations 4 to 10 with one loop per sum, from the embeddings alone."""
    v, t = (method.embed(m, split.views[m]).astype(float) for m in MODALITIES)
    kinds = split.labels.argmax(axis=1)
    feature_terms, centroid_terms = [], []
    for modality, z in zip(MODALITIES, (v, t), strict=True):
        x = split.views[modality].features
        feature_terms.append(cdist(x, x) / pdist(x).max())
        means = np.stack([z[kinds == c].mean(axis=0) for c in range(split.labels.shape[1])])
        centroid_terms.append(cdist(means, means, "cosine") / 2)
    total = 0.0
    for i in rows:
        for j in rows:
            if kinds[i] == kinds[j]:
                continue
            f_ms = sum(d[i, j] for d in feature_terms) / 2
            f_mc = sum(d[kinds[i], kinds[j]] for d in centroid_terms) / 2
            share, constant = method.options.feature_share, method.options.margin
            adaptive = share * f_ms + (1 - share) * f_mc
            margin = alpha * adaptive + (1 - alpha) * constant
            for wrong in (v[i] @ t[j], v[j] @ t[i]):
                total += max(0.0, margin - v[i] @ t[i] + wrong)
    return total / len(rows)


@pytest.mark.parametrize(("alpha", "margin", "loss"), [(0.0, 1.0, 1.0), (1.0, 0.525, 0.0875)])
def test_loss_of_the_hand_computed_example(make_split, alpha, margin, loss):
    rows = np.array([[0.0], [0.6], [1.0]])  # f_ms of the first two is 0.6
    method = placed(make_split(dict.fromkeys(MODALITIES, rows), np.eye(3)))
    method.alpha = alpha
    method.centroids = dict.fromkeys(MODALITIES, torch.eye(3))  # f_mc is 0.5
    margins = method.margins(torch.tensor([0, 1]))
    assert margins[0, 1].item() == pytest.approx(margin)
    scores = torch.tensor([[0.9, 0.3], [0.4, 0.8]])
    assert ranking_loss(scores, margins).item() / 2 == pytest.approx(loss)


@pytest.mark.parametrize(
    ("activation", "schedule"),
    [
        (0.4, {0: 0.0180, 20: 0.1192, 40: 0.5, 60: 0.8808, 80: 0.9820, 99: 0.9973}),
        (0.9, {0: 0.0001, 50: 0.0180, 80: 0.2689, 90: 0.5, 99: 0.7109}),
    ],
)
def test_schedule_follows_the_sigmoid_of_the_epoch(categories, activation, schedule):
    method = placed(categories(0), activation=activation)
    for epoch, alpha in schedule.items():
        first_batch(method, epoch)
        assert round(float(method.alpha), 4) == alpha


@pytest.mark.parametrize(("schedule", "alpha"), [("constant", 0.0), ("adaptive", 1.0)])
def test_the_margin_may_be_constant_or_adaptive_throughout(categories, schedule, alpha):
    method = placed(categories(0), schedule=schedule)
    for epoch in (0, 40, 99):
        first_batch(method, epoch)
        assert method.alpha == alpha


def test_the_log_has_the_mean_margin_of_each_pair_of_categories(categories):
    split = categories(0)
    method = placed(split)
    sums, counts = np.zeros((4, 4)), np.zeros((4, 4))
    kinds = split.labels.argmax(axis=1)
    for batch in method.batches(40, np.random.default_rng(0)):
        method.loss(batch)
        margins = method.margins(batch).numpy()
        for i, a in enumerate(kinds[batch]):
            for j, b in enumerate(kinds[batch]):
                sums[a, b] += margins[i, j]
                counts[a, b] += 1
    np.fill_diagonal(sums, 0)
    np.fill_diagonal(counts, 0)
    found = method.log()
    assert found["alpha"] == 0.5
    assert found["margin"] == pytest.approx(sums.sum() / counts.sum())
    pairs = {f"margin {a} | {b}" for a in range(4) for b in range(a + 1, 4)}
    assert found.keys() == {"alpha", "margin"} | pairs
    for pair in pairs:
        a, b = map(int, pair.removeprefix("margin ").split(" | "))
        assert found[pair] == pytest.approx(sums[a, b] / counts[a, b])


@pytest.mark.parametrize("captions", [1, 3])
def test_loss_without_adaptation_is_the_static_hinge_bit_for_bit(categories, captions):
    split = categories(0, captions=captions)
    method = placed(split, margin=0.2)
    batch = first_batch(method)
    method.alpha = 0.0
    items, rows = split.pairs()
    v, t = (
        normalize(method.network[m](torch.tensor(split.views[m].features[rows[m]]).float()[batch]))
        for m in MODALITIES
    )
    kinds = torch.from_numpy(split.labels.argmax(axis=1)[items])[batch]
    static = ranking_loss(v @ t.T, 0.2, kinds[:, None] != kinds) / len(batch)
    assert torch.equal(method.loss(batch), static)


@pytest.mark.parametrize("epoch", [0, 60])
def test_feature_distance_margin_is_epoch_invariant(categories, epoch):
    split = categories(0)
    method = placed(split, feature_share=1.0)
    batch = first_batch(method, epoch)
    method.alpha = 1.0
    features = [split.views[m].features for m in MODALITIES]
    expected = np.mean([cdist(x[batch], x[batch]) / pdist(x).max() for x in features], axis=0)
    found = method.margins(batch).numpy()
    off_diagonal = ~np.eye(len(batch), dtype=bool)
    np.testing.assert_allclose(found[off_diagonal], expected[off_diagonal], atol=1e-5)


@pytest.mark.parametrize("epoch", [0, 40, 80])
def test_loss_equals_the_triple_loop(categories, epoch):
    split = categories(0)
    method = placed(split, dropout=0.0, activation=0.4)
    batch = first_batch(method, epoch)
    alpha = 1 / (1 + np.exp(-0.1 * (epoch - 40)))
    expected = reference_loss(method, split, batch.tolist(), alpha)
    assert method.loss(batch).item() == pytest.approx(expected, rel=1e-5)


def test_a_batch_of_one_category_has_no_loss_and_no_gradient(categories):
    method = placed(categories(0))
    first_batch(method)
    loss = method.loss(torch.arange(0, 120, 4))  # every fourth item is of the first category
    loss.backward()
    assert loss.item() == 0
    assert all((p.grad == 0).all() for p in method.network.parameters())


def test_gradient_is_that_of_a_constant_margin(categories):
    method = placed(categories(0), dropout=0.0)
    batch = first_batch(method, epoch=80)
    parameters = list(method.network.parameters())
    found = torch.autograd.grad(method.loss(batch), parameters)
    frozen = torch.tensor(method.margins(batch).tolist())
    method.margins = lambda batch: frozen
    expected = torch.autograd.grad(method.loss(batch), parameters)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("classes", [10, 20])
def test_centroid_distance_of_a_regular_simplex(make_split, classes):
    corners = np.eye(classes) - 1 / classes
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    f_mc = centroid_distances(make_split, np.eye(classes), corners)
    expected = (1 + 1 / (classes - 1)) / 2 * (1 - np.eye(classes))
    np.testing.assert_allclose(f_mc, expected, atol=1e-6)


def test_centroid_distance_is_symmetric_and_bounded(make_split, rng):
    centroids = rng.standard_normal((6, 3))
    centroids[1] = -centroids[0]
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    f_mc = centroid_distances(make_split, np.eye(6).repeat(2, axis=0), centroids)
    np.testing.assert_allclose(f_mc, f_mc.T, atol=1e-6)
    assert 0 <= f_mc.min() <= f_mc.max() <= 1
    assert f_mc[0, 2] == pytest.approx(1)  # opposite centroids
    np.testing.assert_allclose(f_mc[::2, 1::2].diagonal(), 0, atol=1e-6)


def test_multi_category_items_stand_at_mean_centroids(make_split):
    labels = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]])
    f_mc = centroid_distances(make_split, labels, np.eye(3))
    assert f_mc[0, 1] == pytest.approx((1 - np.sqrt(0.5)) / 2)
    assert f_mc[0, 2] == pytest.approx(0.5)


def test_items_that_share_a_category_are_not_negatives(make_split, rng):
    views = {m: rng.standard_normal((3, 5)) for m in MODALITIES}
    method = placed(make_split(views, [[1, 1, 0], [0, 1, 1], [0, 0, 1]]), margin=4.0)
    first_batch(method)
    assert method.loss(torch.tensor([0, 1])).item() == 0
    assert method.loss(torch.tensor([1, 2])).item() == 0
    assert method.loss(torch.tensor([0, 2])).item() > 0


def test_items_without_category_are_left_out(make_split, rng):
    views = {m: rng.standard_normal((5, 4)) for m in MODALITIES}
    labels, labelled = np.array([[1, 0], [0, 0], [0, 1], [0, 0], [1, 0]]), [0, 2, 4]
    found = placed(make_split(views, labels), scaling="zscore")
    expected = placed(
        make_split({m: x[labelled] for m, x in views.items()}, labels[labelled]),
        scaling="zscore",
    )
    assert torch.equal(found.labels, expected.labels)
    for modality in MODALITIES:
        assert torch.equal(found.inputs[modality], expected.inputs[modality])
        assert torch.equal(found.diameters[modality], expected.diameters[modality])
    for ours, theirs in zip(found.network.buffers(), expected.network.buffers(), strict=True):
        assert torch.equal(ours, theirs)


def test_no_category_at_all_is_refused(make_split, rng):
    split = make_split({m: rng.standard_normal((2, 5)) for m in MODALITIES}, [[0, 0], [0, 0]])
    with pytest.raises(CrossmodalError, match="label"):
        placed(split)


def test_projections_start_glorot_uniform_without_bias(categories):
    method = placed(categories(0), hidden=200, dims=100)
    for name, parameter in method.network.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all()
        else:
            bound = np.sqrt(6 / sum(parameter.shape))
            assert 0.98 * bound < parameter.abs().max() <= bound


def test_learning_rate_decays_with_the_number_of_steps(categories):
    method = placed(categories(0), learning_rate=0.01, decay=1e-3)
    assert [method.learning_rate_at(0, step) for step in (0, 1000, 3000)] == [0.01, 0.005, 0.0025]


def test_zscores_use_the_training_statistics_alone(categories):
    train, validation = categories(0), categories(1)
    train.views["image"].features[:, 2] = 7.0
    method = SAM(**OPTIONS | {"scaling": "zscore", "epochs": 2})
    method.fit(train, validation, Run(seed=0))
    for modality in MODALITIES:
        x = train.views[modality].features
        deviation = np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), 1)
        scaler = method.network[modality][0]
        expected = (validation.views[modality].features - x.mean(axis=0)) / deviation
        rows = torch.from_numpy(validation.views[modality].features).float()
        np.testing.assert_allclose(scaler(rows).numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("scaling", "invariant"), [("l2-centre", True), ("raw", False)])
def test_row_lengths_matter_unless_they_are_normalised(categories, rng, scaling, invariant):
    split = categories(0)
    method = placed(split, scaling=scaling)
    before = method.embed("image", split.views["image"])
    split.views["image"].features[:] *= rng.uniform(0.1, 10, (120, 1))
    after = method.embed("image", split.views["image"])
    assert np.allclose(before, after, atol=1e-6) == invariant


def test_margin_falls_from_constant_to_adaptive_over_training(categories):
    train = categories(0, classes=20, count=400)
    method = placed(train, batch=100)
    different = torch.from_numpy(~(train.labels @ train.labels.T))
    first_batch(method)
    start = method.margins(torch.arange(400))[different].mean().item()
    assert start == pytest.approx(0.99, abs=0.01)  # alpha is 0.018
    method.fit(train, categories(1, classes=20, count=100), Run(seed=0))
    end = method.margins(torch.arange(400))[different].mean().item()
    distances = [pdist(train.views[m].features) for m in MODALITIES]
    f_ms = np.mean([d.mean() / d.max() for d in distances])
    separated = 0.25 * f_ms + 0.75 * 0.526  # f_mc of a regular simplex of 20 centroids
    assert end == pytest.approx(separated, abs=0.02)


@pytest.mark.parametrize("captions", [1, 3])
def test_unseen_items_of_the_same_categories_are_found(categories, captions):
    method = SAM(**OPTIONS | {"epochs": 10})
    method.fit(categories(0, captions=captions), categories(1, captions=captions), Run(seed=0))
    assert selection_score(method, categories(2, captions=captions)) > 0.8  # chance is 0.25


def test_seeds_reproduce_and_differ(categories):
    def weights(seed):
        method = SAM(**OPTIONS | {"epochs": 2})
        method.fit(categories(0), categories(1), Run(seed))
        return method.state()["text.1.weight"]

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_a_restored_method_embeds_as_the_fitted_one(categories):
    options = OPTIONS | {"epochs": 2, "scaling": "zscore"}
    fitted, restored, test = SAM(**options), SAM(**options), categories(2)
    fitted.fit(categories(0), categories(1), Run(seed=0))
    restored.restore(fitted.state(), test.views)
    for modality, view in test.views.items():
        expected = fitted.embed(modality, view)
        np.testing.assert_array_equal(restored.embed(modality, view), expected)
