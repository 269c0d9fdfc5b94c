import json
import re
from types import SimpleNamespace

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.workflow.drawings import Drawings
from tests.workflow.test_jobs import make

ITEMS = "data/prepared/scenes/items.csv"
INPUTS = {
    "epochs": [f"results/runs/sam/seed{seed}.json" for seed in (0, 1)],
    "steps": ["results/curves/learning/sam.csv"],
    "small/learning": [*(f"results/curves/learning/{e}.csv" for e in ("cca", "sam")), ITEMS],
    "small/precision_scope": [
        *(f"results/curves/precision_scope/{e}.csv" for e in ("cca", "sam")),
        ITEMS,
    ],
    "small/map": ["embeddings/cca/seed0.h5", ITEMS],
    "margins/sam": ["models/sam/seed0/curve.csv"],
    "similarity/cca": ["embeddings/cca/seed0.h5"],
}


@pytest.fixture(scope="module")
def drawings():
    return Drawings(make(map={"experiment": "cca"}))


@pytest.mark.parametrize("name", INPUTS)
def test_figure_inputs_and_code(drawings, name):
    wildcards = SimpleNamespace(drawing=name)
    assert re.fullmatch(drawings.pattern(), name)
    assert drawings.inputs(wildcards) == INPUTS[name]
    assert len(json.loads(drawings.draw(wildcards))["code"]) == 16
    assert drawings.kind(wildcards)


def test_every_figure_below_a_table_has_a_name(drawings):
    table = drawings.params.tables["small"]
    for name in table.drawn("small"):
        assert re.fullmatch(drawings.pattern(), name)


@pytest.mark.parametrize("name", ["other", "small/other", "margins/other", "small", "a/small/map"])
def test_other_names_are_no_figures(drawings, name):
    assert not re.fullmatch(drawings.pattern(), name)


def test_a_table_without_a_map_is_named():
    with pytest.raises(CrossmodalError, match=r"tables\.small: has no `map`"):
        Drawings(make()).draw(SimpleNamespace(drawing="small/map"))
