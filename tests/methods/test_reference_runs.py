"""Methods against reference runs on Wikipedia's published features.

The references were computed by other code: 2,173 training and 693 test items, mAP@all.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from crossmodal.config import plugins
from crossmodal.learning.method import Run
from crossmodal.learning.selection import pools
from crossmodal.metrics.retrieval import evaluate

I2T, T2I = ("image", "text"), ("text", "image")
CFA = {"dims": 7}
CCA = {"ridge": 0.0}
KCCA = {"dims": 9, "width": 0.3, "shrinkage": 1e-3, "scaling": "centre"}
GMLDA = {"dims": 9, "ridge": 1e-6, "pca_energy": 1.0}
THREE_VIEWS = {"power": 4.0}
ML_CCA = {"dims": 9, "power": 1.0, "sigma": None}
LGCFL = {"penalty": 10.0, "iterations": 30, "tolerance": 1e-4, "scaling": "zscore"}
JRL = {"penalty": 1e3, "pair_weight": 1.0, "neighbours": 100, "iterations": 30, "tolerance": 1e-4}
LRBS = {"penalty": 0.1, "iterations": 10, "tolerance": 0.0, "sample": None}
SCALED = {"scaling": "zscore-l2", "pca_energy": None}
STREAM = {"step_size": 1.0, "margin_scale": 20.0, "margin_base": 0.0, "feature_weight": 0.5}
STREAM |= {"triplets": 100_000, **SCALED}
MODEL = {"rank": 10, "within": "first"}
DEEP_SM = {"hidden": {"image": [], "text": []}, "dropout": 0.0}
DEEP_SM |= {"scaling": "zscore", "learning_rate": 0.05, "momentum": 0.9}
DEEP_SM |= {"weight_decay": 0.046, "batch": 200, "epochs": 10}  # logistic regression, C = 0.01
REFERENCES = [
    ("cfa", CFA | {"scaling": "centre"}, (0.236, 0.181), 0.002),
    ("cfa", CFA | {"scaling": "zscore"}, (0.247, 0.198), 0.002),
    ("cca", CCA | {"dims": 7, "power": 0.0}, (0.246, 0.201), 0.002),
    ("cca", CCA | {"dims": 9, "power": 2.0}, (0.259, 0.214), 0.002),
    ("pls", {"dims": 7, "scaling": "zscore"}, (0.248, 0.199), 0.002),
    ("kcca", KCCA | {"landmarks": 500}, (0.253, 0.203), 0.005),  # the reference is exact
    ("gmlda", GMLDA | {"alignment": "all", "alpha": 10.0, "balance": False}, (0.258, 0.211), 0.002),
    ("gmlda", GMLDA | {"alignment": "mean", "alpha": 5.0, "balance": True}, (0.260, 0.202), 0.002),
    (
        "three_view_cca",
        THREE_VIEWS | {"dims": 10, "ridge": 1e-4, "scaling": "centre"},
        (0.274, 0.223),
        0.002,
    ),
    (
        "three_view_cca",
        THREE_VIEWS | {"dims": 20, "ridge": 1e-2, "scaling": "zscore"},
        (0.281, 0.222),
        0.002,
    ),
    ("ml_cca", ML_CCA | {"ridge": 0.0}, (0.272, 0.213), 0.002),
    ("ml_cca", ML_CCA | {"ridge": 0.25}, (0.276, 0.218), 0.002),
    ("lgcfl", LGCFL, (0.269, 0.213), 0.002),
    # the reference stops after five steps from a random start
    ("jrl", JRL | {"graph_weight": 0.0}, (0.304, 0.217), 0.01),
    ("jrl", JRL | {"graph_weight": 1.0}, (0.304, 0.215), 0.015),
    ("lrbs", LRBS | SCALED, (0.282, 0.216), 0.005),
    pytest.param(
        *("cmolrs", STREAM | MODEL | {"triplets_per_query": 1}, (0.269, 0.212), 0.01),
        marks=pytest.mark.long,
    ),
    pytest.param(
        *("cmolrs", STREAM | MODEL | {"triplets_per_query": 4}, (0.269, 0.211), 0.01),
        marks=pytest.mark.long,
    ),
    pytest.param(
        *("full_sgd", STREAM | {"triplets_per_query": 4}, (0.273, 0.212), 0.015),
        marks=pytest.mark.long,
    ),
    ("deep_sm", DEEP_SM | {"similarity": "dot"}, (0.315, 0.237), 0.01),
    ("deep_sm", DEEP_SM | {"similarity": "centred"}, (0.300, 0.230), 0.01),
]


@pytest.fixture(scope="module")
def splits(make_split):
    """The official training and test parts."""
    folder = Path(os.environ.get("CROSSMODAL_MIRROR", "none")) / "wikipedia"
    if not folder.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no wikipedia")
    matrices = scipy.io.loadmat(folder / "raw_features.mat")
    found = []
    for part, suffix in (("train", "tr"), ("test", "te")):
        lines = (folder / f"{part}set_txt_img_cat.list").read_text().split("\n")
        categories = np.array([int(line.split("\t")[2]) for line in lines if line])
        views = {"image": matrices[f"I_{suffix}"], "text": matrices[f"T_{suffix}"]}
        found.append(make_split(views, np.eye(10)[categories - 1]))
    return found


@pytest.mark.real
@pytest.mark.usefixtures("cpu", "keep_last")
@pytest.mark.parametrize(("name", "options", "reference", "tolerance"), REFERENCES)
def test_the_reference_is_reached(splits, name, options, reference, tolerance):
    train, test = splits
    method = plugins.make("methods", name, options, name)
    method.fit(train, train, Run(seed=0))
    found = pools(method, test)
    reached = [
        evaluate(
            found[query],
            found[gallery],
            lambda q, g, pair=(query, gallery): method.score(q, g, pair),
        )["mAP"]
        for query, gallery in (I2T, T2I)
    ]
    assert reached == pytest.approx(reference, abs=tolerance)
