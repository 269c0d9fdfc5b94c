import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crossmodal.methods
from crossmodal.config import plugin_files, plugins
from crossmodal.config.overlays import read_files
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods import CCA, CFA, KCCA, PLS, SAM, Ridge
from tests.project_params import PATH

FLOWERS, SPECIES = load_iris(return_X_y=True)
SEPALS, PETALS = FLOWERS[:, :2], FLOWERS[:, 2:]
SMALL = {"dims": 4, "hidden": 8, "epochs": 2}
HOLES = np.where(np.arange(150) % 3 > 0, SPECIES, np.nan)  # a third has no label
BROKEN = np.where(np.arange(150)[:, None] == 7, np.nan, SEPALS)


def split():
    """The same arrays as methods get them in a run."""
    ids, rows = [str(row) for row in range(150)], np.arange(150)
    views = {m: View(x, rows, ids, {}) for m, x in (("image", SEPALS), ("text", PETALS))}
    return Split(ids, SPECIES[:, None] == np.arange(3), views, ("0", "1", "2"))


def test_numbers_are_those_of_the_method_in_a_run():
    options = {"dims": 2, "ridge": 0.01, "power": 0.0}
    method = plugins.make("methods", "cca", options, "options")
    method.fit(split(), split(), Run(seed=0))
    cca = CCA(**options).fit(SEPALS, PETALS, SPECIES)
    images, texts = cca.transform(SEPALS, PETALS)
    np.testing.assert_array_equal(images, method.embed("image", split().views["image"]))
    np.testing.assert_array_equal(texts, cca.transform(texts=PETALS))
    assert cca.score(SEPALS, PETALS, SPECIES) == selection_score(method, split())


def test_options_not_given_are_those_of_params():
    entry = read_files([PATH])["methods"]["cca"]
    options = {key: value for key, value in entry.items() if key != "label"}
    assert CCA(dims=3).get_params() == options | {"random_state": 0, "dims": 3}


def test_scikit_learn_clones_it():
    cca = CCA(dims=3, ridge=0.5)
    assert clone(cca).get_params() == cca.get_params()
    assert repr(clone(cca)) == "CCA(dims=3, ridge=0.5)"
    assert cca.set_params(dims=2).get_params()["dims"] == 2


def test_scikit_learn_validates_and_searches_it():
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(CCA(dims=2), {"dims": np.arange(1, 3)}, cv=folds).fit(SEPALS, PETALS)
    assert (
        search.best_score_
        == cross_val_score(search.best_estimator_, SEPALS, PETALS, cv=folds).mean()
    )


def test_scikit_learn_puts_it_into_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), CCA(dims=2)).fit(SEPALS, PETALS)
    standardised = StandardScaler().fit_transform(SEPALS)
    alone = CCA(dims=2).fit(standardised, PETALS).transform(standardised)
    np.testing.assert_array_equal(pipeline.transform(SEPALS), alone)
    assert "CCA(dims=2)" in repr(pipeline)
    assert "dims" in pipeline._repr_html_()


def test_signature_has_all_options_with_their_defaults():
    parameters = inspect.signature(SAM).parameters
    assert {name: each.default for name, each in parameters.items()} == SAM().get_params()


def test_estimator_of_a_file_with_another_name(tmp_path):
    file = tmp_path / "plugins/methods/nearest.py"
    file.parent.mkdir(parents=True)
    file.write_text(inspect.getsource(crossmodal.methods.ridge).replace("class Ridge", "class Far"))
    plugin_files.look_in(tmp_path)
    try:
        assert crossmodal.methods.Far(**Ridge().get_params()).fit(SEPALS, PETALS)
    finally:
        plugin_files.look_in(Path())


def test_same_seed_gives_the_same_scores():
    fits = [SAM(random_state=s, **SMALL).fit(SEPALS, PETALS, SPECIES) for s in (1, 1, 2)]
    first, second, other = (fit.similarity(SEPALS, PETALS) for fit in fits)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_rows_that_choose_the_epoch_are_not_learnt_from():
    seen = SEPALS.copy()
    seen[9::10] = 1e6  # every tenth row
    whole = SAM(**SMALL, scaling="zscore").fit(SEPALS, PETALS, SPECIES).method_.state()
    other = SAM(**SMALL, scaling="zscore").fit(seen, PETALS, SPECIES).method_.state()
    means = [name for name in whole if "mean" in name]
    assert means
    for name in means:
        np.testing.assert_array_equal(whole[name], other[name])


def test_pairs_without_labels_are_scored_by_recalls():
    ridge = Ridge().fit(SEPALS, PETALS)
    assert 0 < ridge.score(SEPALS, PETALS) < 600


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CCA(dim=3), "CCA.dim: unknown key"),
        (lambda: CCA(dims="3"), "CCA.dims: .*'3'"),
        (lambda: CCA().transform(SEPALS), "call `fit` first"),
        (lambda: CCA().fit(SEPALS, PETALS[:9]), "150 images, but 9 texts or labels"),
        (lambda: CCA().fit(SEPALS, PETALS, SPECIES[:9]), "150 images, but 9 texts or labels"),
        (lambda: CCA().fit(SEPALS[0], PETALS), "a row each is needed"),
        (lambda: CCA().fit(SEPALS, PETALS).transform(), "images, texts or both"),
        (lambda: crossmodal.methods.VASE(), "VASE takes more than vectors"),
        (lambda: SAM().fit(SEPALS, PETALS, HOLES), "label of row 0 is nan"),
        (lambda: SAM().fit(SEPALS, PETALS, ["a", None] * 75), "label of row 1 is None"),
        (lambda: CCA().fit(SEPALS, PETALS).score(SEPALS, PETALS, HOLES), "of row 0 is nan"),
        (lambda: SAM().fit(SEPALS, PETALS, SPECIES[:, None]), "a column of 0 and 1 of each label"),
        (lambda: SAM().fit(SEPALS, PETALS, SPECIES, validation=(SEPALS, PETALS)), "no labels"),
        (lambda: CCA().fit(SEPALS, PETALS, validation=(SEPALS,)), "validation: give \\(images"),
        (
            lambda: CCA().fit(
                SEPALS, PETALS, SPECIES, validation=(SEPALS, PETALS, np.ones((150, 2)))
            ),
            "validation: its labels differ in shape",
        ),
        (lambda: CCA().fit(SEPALS, PETALS, validation=(FLOWERS, PETALS)), "images: 4 columns"),
        (lambda: KCCA().fit(BROKEN, PETALS), "images: row 7 has values that are NaN"),
        (lambda: CFA().fit(SEPALS, BROKEN), "texts: row 7 has values that are NaN"),
        (lambda: CCA().fit(SEPALS[:0], PETALS[:0]), "shape \\(0, 2\\)"),
        (lambda: CCA().fit(csr_array(SEPALS), PETALS), "images: a sparse matrix; give `.toarray"),
        (lambda: CCA().fit([["a"], ["b"]], PETALS), "images: .* type <U1; a row each"),
        (lambda: CCA().fit([[1, 2], [3]], PETALS), "images: .*inhomogeneous"),
        (lambda: SAM().fit(SEPALS[:9], PETALS[:9], SPECIES[:9]), "9 rows; give 10 or more"),
        (lambda: CCA().fit(SEPALS[:1], PETALS[:1]), "the arrays: its only training item is '0'"),
        (lambda: CCA(random_state=-1), "random_state: is -1"),
        (lambda: CCA(random_state=None), "random_state: is None"),
        (lambda: CCA(random_state=True), "random_state: is True"),
        (lambda: CCA().set_params(random_state="a"), "random_state: is 'a'"),
    ],
)
def test_what_does_not_suit_is_refused(call, message):
    with pytest.raises(CrossmodalError, match=message):
        call()


@pytest.mark.parametrize("name", ["W2VV", "Nothing", "nothing"])
def test_other_names_are_no_estimators(name):
    assert not hasattr(crossmodal.methods, name)


@pytest.mark.parametrize("estimator", [CCA, PLS, Ridge, lambda: SAM(**SMALL)])
@pytest.mark.parametrize("width", [1, 3])
def test_rows_of_another_width_than_fitted_are_refused(estimator, width):
    fitted = estimator().fit(SEPALS, PETALS, SPECIES)
    other = np.ones((150, width))
    for call in (
        lambda: fitted.transform(other),
        lambda: fitted.similarity(SEPALS, other),
        lambda: fitted.score(other, PETALS),
    ):
        with pytest.raises(CrossmodalError, match=f"{width} columns, but `fit` had 2"):
            call()


@pytest.mark.parametrize(
    "given", [SEPALS[::-1].copy()[::-1], SEPALS.astype(">f8"), SEPALS.astype(np.longdouble)]
)
def test_arrays_that_torch_does_not_take_are_learnt_from(given):
    sam = SAM(**SMALL)
    expected = sam.fit(SEPALS, PETALS, SPECIES).transform(SEPALS)
    fitted = sam.fit(given, PETALS, SPECIES)
    np.testing.assert_allclose(fitted.transform(given), expected, rtol=1e-5)


def test_scores_are_by_labels_that_fit_did_not_see():
    ridge = Ridge().fit(SEPALS, PETALS, SPECIES)
    names = np.array(["rose", "lily", "tulip"])[SPECIES]
    assert ridge.score(SEPALS, PETALS, names) == ridge.score(SEPALS, PETALS, SPECIES) > 0


def test_labels_of_validation_alone_count():
    rare = np.where(np.arange(150) < 140, SPECIES, 5)
    held = SEPALS[140:], PETALS[140:]
    sam = SAM(**SMALL).fit(SEPALS[:140], PETALS[:140], rare[:140], validation=(*held, rare[140:]))
    assert sam.score(*held, rare[140:]) == 1


@pytest.mark.parametrize("estimator", [CCA(dims=2), SAM(**SMALL)])
def test_pickles_embed_as_their_originals(estimator):
    fitted = estimator.fit(SEPALS, PETALS, SPECIES)
    copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - its own
    np.testing.assert_array_equal(copy.transform(SEPALS), fitted.transform(SEPALS))
