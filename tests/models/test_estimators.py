import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import crossmodal.methods
from crossmodal.config import plugins
from crossmodal.config.overlays import read_files
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods import CCA, SAM, Ridge
from tests.project_params import PATH

FLOWERS, SPECIES = load_iris(return_X_y=True)
SEPALS, PETALS = FLOWERS[:, :2], FLOWERS[:, 2:]
SMALL = {"dims": 4, "hidden": 8, "epochs": 2}


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
    ],
)
def test_what_does_not_suit_is_refused(call, message):
    with pytest.raises(CrossmodalError, match=message):
        call()


@pytest.mark.parametrize("name", ["W2VV", "Nothing", "nothing"])
def test_other_names_are_no_estimators(name):
    assert not hasattr(crossmodal.methods, name)
