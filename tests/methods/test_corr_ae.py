import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.corr_ae import CorrAE

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {"dims": 24, "pretrained": {}, "noise": 0.2}
OPTIONS |= {"correlation_weight": 0.8, "scaling": "zscore", "score_norm": "none"}
OPTIONS |= {"learning_rate": 0.01, "weight_decay": 0.0, "batch": 40}
OPTIONS |= {"pretraining_steps": 30, "steps": 180}
STACKS = {"image": [16, 12], "text": [12]}


@pytest.mark.parametrize(
    "options", [{}, {"pretrained": STACKS}, {"score_norm": "train_z"}], ids=["", "stacks", "z"]
)
def test_unseen_items_are_found(assert_learns, options):
    assert_learns(lambda: CorrAE(**OPTIONS | options), 0.4)  # chance is 0.25


def test_labels_play_no_part(classes, make_split):
    train, validation = classes(0), classes(1)
    unlabelled = make_split({m: view.features for m, view in train.views.items()})
    codes = []
    for split in (train, unlabelled):
        method = CorrAE(**OPTIONS | {"steps": 6})
        method.fit(split, validation, Run(0))
        codes.append(method.embed("image", validation.views["image"]))
    np.testing.assert_array_equal(*codes)


@pytest.mark.usefixtures("keep_last")
def test_the_distance_alone_forgets_the_items(classes):
    train, found = classes(0), []
    for weight in (0.5, 1.0):
        options = {"correlation_weight": weight, "weight_decay": 0.1, "steps": 300}
        method, run = CorrAE(**OPTIONS | options), Run(0)
        method.fit(train, train, run)
        found.append(selection_score(method, train))
    assert run.curve[-1]["loss"] < 1e-6
    codes = method.embed("image", train.views["image"])
    assert np.ptp(codes, axis=0).max() < 1e-3
    assert found[1] < found[0] - 0.1


def test_a_view_without_layers_is_named(classes):
    method = CorrAE(**OPTIONS | {"pretrained": {"image": [4]}})
    with pytest.raises(CrossmodalError, match="'text'"):
        method.fit(classes(0), classes(1), Run(0))
