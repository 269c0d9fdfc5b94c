import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.ridge import Ridge


@pytest.fixture
def views(rng):
    text = rng.standard_normal((60, 6)) * [1, 2, 3, 4, 5, 6] + 3
    image = text @ rng.standard_normal((6, 4)) + rng.standard_normal((60, 4)) - 1
    return {"image": image, "text": text}


@pytest.fixture
def predict(make_split):
    """Predicted images of the training texts, and the penalty on the plain squared error."""

    def predicted(views, penalty):
        method, split = Ridge(penalty=penalty, whitening=0), make_split(views)
        method.fit(split, split, Run(seed=0))
        text = views["text"]
        alpha = penalty * len(text) * text.var(axis=0).mean()
        prediction = method.embed("text", split.views["text"])
        return prediction + method.arrays["mean.image"], alpha

    return predicted


@pytest.mark.parametrize("penalty", [1e-6, 0.1, 10.0])
def test_predictions_equal_those_of_sklearn(views, predict, penalty):
    prediction, alpha = predict(views, penalty)
    peer = SklearnRidge(alpha, solver="svd").fit(views["text"], views["image"])
    np.testing.assert_allclose(prediction, peer.predict(views["text"]), rtol=1e-9)


def test_predictions_solve_penalised_least_squares(views, predict):
    prediction, alpha = predict(views, 0.5)
    x, y = (views[m] - views[m].mean(axis=0) for m in ("text", "image"))
    rows = np.vstack([x, np.sqrt(alpha) * np.eye(6)])
    weights = np.linalg.lstsq(rows, np.vstack([y, np.zeros((6, 4))]), rcond=None)[0]
    np.testing.assert_allclose(prediction, x @ weights + views["image"].mean(axis=0))


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_whitening_divides_directions_by_a_power_of_their_spread(views, make_split, power):
    split, method = make_split(views), Ridge(penalty=1e-6, whitening=power)
    method.fit(split, split, Run(seed=0))
    covariance = np.cov(views["image"], rowvar=False, ddof=0)
    scaled = np.cov(method.embed("image", split.views["image"]), rowvar=False, ddof=0)
    values, vectors = np.linalg.eigh(covariance)
    np.testing.assert_allclose(scaled, vectors * values ** (1 - power) @ vectors.T, atol=1e-9)
    plain = Ridge(penalty=1e-6, whitening=0)
    plain.fit(split, split, Run(seed=0))
    expected = plain.embed("text", split.views["text"]) @ method.arrays["map.image"]
    np.testing.assert_allclose(method.embed("text", split.views["text"]), expected)


def test_a_direction_without_spread_is_no_error(views, make_split):
    views["image"][:, 3] = 2.0
    split, method = make_split(views), Ridge(penalty=0.1, whitening=1)
    method.fit(split, split, Run(seed=0))
    assert np.isfinite(method.embed("text", split.views["text"])).all()
    assert np.isfinite(method.embed("image", split.views["image"])).all()


def test_penalty_is_free_of_the_units_of_the_text(views, predict):
    expected, _ = predict(views, 0.5)
    rescaled, _ = predict(views | {"text": 1e3 * views["text"]}, 0.5)
    np.testing.assert_allclose(rescaled, expected)


def test_each_caption_makes_a_pair_with_its_image(rng, predict):
    image, text = rng.standard_normal((20, 3)), rng.standard_normal((60, 5))
    captioned, _ = predict({"image": image, "text": text}, 0.1)
    repeated, _ = predict({"image": image.repeat(3, axis=0), "text": text}, 0.1)
    np.testing.assert_array_equal(captioned, repeated)


def test_linearly_related_pairs_are_retrieved_without_error(rng, make_split):
    relation, offset = rng.standard_normal((10, 8)), rng.standard_normal(8)

    def split(count):
        text = rng.standard_normal((count, 10))
        return make_split({"image": text @ relation + offset, "text": text})

    method = Ridge(penalty=1e-9, whitening=0)
    method.fit(split(100), split(100), Run(seed=0))
    assert selection_score(method, split(300)) == 600  # six recalls of 100


def test_a_singular_covariance_names_its_constant_columns(views, make_split):
    views["text"][:] = 0
    split = make_split(views)
    message = r"singular: 6 of its 6 columns are constant \(0, 1, 2, 3, 4, 5\); raise penalty"
    with pytest.raises(CrossmodalError, match=message):
        Ridge(penalty=0.1, whitening=0).fit(split, split, Run(seed=0))
    views["text"][:, 2:4] = np.arange(60)[:, None] * 1e9
    split = make_split(views)
    with pytest.raises(CrossmodalError, match=r"4 of its 6 columns are constant \(0, 1, 4, 5\)"):
        Ridge(penalty=1e-30, whitening=0).fit(split, split, Run(seed=0))
