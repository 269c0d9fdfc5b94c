import math
import re
from collections import Counter
from pathlib import Path

import pytest

from crossmodal.config.claims import Comparison, Starts, read_claims
from crossmodal.config.params import read

CLAIMS = read_claims()
ROOT = Path(__file__).parents[2]


def test_claims_are_of_all_papers():
    papers = Counter(claim.paper for claim in CLAIMS)
    assert papers.keys() == {"SAM", "CMOLRS", "FNE", "VASE"}
    assert papers.total() >= 25
    assert len({claim.claim for claim in CLAIMS}) == papers.total()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.claim)
def test_claims_name_their_place_and_published_rows(claim):
    # its sign is the paper's own: a claim whose published rows say otherwise stays in the list
    assert re.match(r"(Tables?|Figure|Section) [\dIV]", claim.place)
    assert all(math.isfinite(number) for _, number in claim.published())


def test_claims_are_not_chosen_by_their_published_sign():
    compared = [claim for claim in CLAIMS if isinstance(claim, Comparison)]
    signs = {number > 0 for claim in compared for _, number in claim.published()}
    assert signs == {True, False}


def test_claims_of_starts_follow_the_published_numbers():
    counted = [claim for claim in CLAIMS if isinstance(claim, Starts)]
    numbers = [(claim.starts, number) for claim in counted for _, number in claim.published()]
    assert len(numbers) == 6
    assert all(starts == (number > 2.5) for starts, number in numbers)


def test_claims_compare_experiments_on_one_dataset():
    params = read(ROOT / "params.yaml")
    for claim in CLAIMS:
        assert claim.measured
        for group in claim.measured:
            tests = {(e.dataset, e.relevance) for e in map(params.experiments.get, group)}
            assert len(tests) == 1
