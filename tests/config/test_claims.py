import math
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
def test_claims_name_published_rows(claim):
    # its sign is the paper's own: a claim whose published rows say otherwise stays in the list
    assert claim.reported
    assert all(math.isfinite(reported_difference(claim, rows)) for rows in claim.reported)


def test_claims_are_not_chosen_by_their_published_sign():
    signs = {reported_difference(c, rows) > 0 for c in CLAIMS for rows in c.reported}
    assert signs == {True, False}


def test_claims_compare_experiments_on_one_dataset():
    params = read(ROOT / "params.yaml")
    for claim in CLAIMS:
        assert claim.measured
        for pair in claim.measured:
            better, worse = (params.experiments[name] for name in pair)
            assert (better.dataset, better.relevance) == (worse.dataset, worse.relevance)
