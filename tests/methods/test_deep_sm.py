import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from crossmodal.learning.method import Run
from crossmodal.methods.deep_sm import DeepSM
from crossmodal.metrics.retrieval import Pool, evaluate

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {"hidden": {"image": [], "text": [16]}, "dropout": 0.0}
OPTIONS |= {"similarity": "dot", "scaling": "zscore"}
OPTIONS |= {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 1e-3, "batch": 40, "epochs": 20}
SIMILARITIES = ["dot", "centred"]
DIRECTION = ("image", "text")


def fit(train, **options):
    method = DeepSM(**OPTIONS | options)
    method.fit(train, train, Run(0))
    return method


@pytest.mark.usefixtures("keep_last")
def test_one_layer_is_logistic_regression(classes):
    train = classes(0)
    options = {"hidden": {"image": [], "text": []}, "weight_decay": 0.1, "learning_rate": 0.3}
    method = fit(train, **options, batch=120, epochs=300)
    for modality, view in train.views.items():
        x = StandardScaler().fit_transform(view.features)
        peer = LogisticRegression(C=1 / (120 * 0.1), tol=1e-8).fit(x, train.labels.argmax(1))
        found = method.embed(modality, view)
        np.testing.assert_allclose(found, peer.predict_proba(x), atol=1e-3)


@pytest.mark.usefixtures("keep_last")
def test_pairing_plays_no_part(classes, make_split, rng):
    train = classes(0)
    order = np.arange(120)
    for kind in range(4):  # texts change places within their class
        order[kind::4] = rng.permutation(order[kind::4])
    views = {"image": train.views["image"].features, "text": train.views["text"].features[order]}
    shuffled = make_split(views, train.labels)
    found, expected = (fit(split, batch=120) for split in (shuffled, train))
    np.testing.assert_array_equal(
        *(m.state()["stages.0.heads.image.weight"] for m in (found, expected))
    )
    np.testing.assert_allclose(
        found.state()["stages.0.heads.text.weight"],
        expected.state()["stages.0.heads.text.weight"],
        atol=1e-4,
    )


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_perfect_classifiers_rank_all_with_ties_in_classes(similarity):
    posteriors = np.eye(4, dtype=np.float32)[np.arange(20) % 4]
    pool = Pool(posteriors, np.arange(20), posteriors > 0)
    method = DeepSM(**OPTIONS | {"similarity": similarity})
    found = evaluate(pool, pool, lambda q, g: method.score(q, g, DIRECTION))
    assert found["mAP"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        ("dot", lambda p, q: sum(a * b for a, b in zip(p, q, strict=True))),
        ("centred", lambda p, q: np.corrcoef(p, q)[0, 1]),
    ],
)
def test_similarities_are_as_defined(rng, similarity, expected):
    queries, gallery = rng.dirichlet(np.ones(5), 3), rng.dirichlet(np.ones(5), 4)
    found = DeepSM(**OPTIONS | {"similarity": similarity}).score(queries, gallery, DIRECTION)
    np.testing.assert_allclose(found, [[expected(p, q) for q in gallery] for p in queries])


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_the_order_of_the_classes_does_not_matter(rng, similarity):
    queries, gallery = rng.dirichlet(np.ones(5), 3), rng.dirichlet(np.ones(5), 4)
    method, order = DeepSM(**OPTIONS | {"similarity": similarity}), [3, 0, 4, 1, 2]
    found = method.score(queries[:, order], gallery[:, order], DIRECTION)
    np.testing.assert_allclose(found, method.score(queries, gallery, DIRECTION))


def test_unseen_items_are_found(assert_learns):
    assert_learns(lambda: DeepSM(**OPTIONS), 0.7)  # chance is 0.25
