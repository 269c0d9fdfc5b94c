import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.workflow.targets import refuse_unknown
from tests.project_params import PARAMS


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("results/tables/wikipdia.md", "tables: 'wikipdia' .* 'wikipedia'"),
        ("results/examples/wikipedia_caa.html", "experiments: .* 'wikipedia_cca'"),
        ("models/wikipedia_caa/seed0/model.json", "experiments: .* 'wikipedia_cca'"),
        ("data/prepared/scense/items.csv", "datasets: .* 'scenes'"),
    ],
)
def test_a_mistyped_name_in_a_target_is_corrected(target, meant):
    with pytest.raises(CrossmodalError, match=f"^{target}: {meant}"):
        refuse_unknown([target], PARAMS)


def test_other_targets_are_left_to_snakemake():
    right = [
        "results/tables/all.md",
        "results/tables/wikipedia.csv",
        "trained",
        "results/x",
        "models",
    ]
    refuse_unknown(right, PARAMS)
