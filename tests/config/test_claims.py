from collections import Counter
from pathlib import Path

import pytest

from crossmodal.config.claims import read_claims, reported_difference
from crossmodal.config.params import read

CLAIMS = read_claims()
ROOT = Path(__file__).parents[2]


def test_claims_are_of_all_papers():
    papers = Counter(claim.paper for claim in CLAIMS)
    assert papers.keys() == {"SAM", "CMOLRS", "FNE", "VASE"}
    assert papers.total() >= 25
    assert len({claim.claim for claim in CLAIMS}) == papers.total()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.claim)
def test_claims_are_borne_out_by_the_published_rows(claim):
    assert claim.reported
    assert all(reported_difference(claim, rows) > 0 for rows in claim.reported)


def test_claims_compare_experiments_on_one_dataset():
    params = read(ROOT / "params.yaml")
    for claim in CLAIMS:
        assert claim.measured
        for pair in claim.measured:
            better, worse = (params.experiments[name] for name in pair)
            assert (better.dataset, better.relevance) == (worse.dataset, worse.relevance)
