"""How many candidates each method has on the validation split; the papers' are among them."""

import math

import pytest

from tests.project_params import PARAMS

# tables of category methods that are compared with each other
TABLES = (
    *("wikipedia", "sam_wikipedia_462", "sam_wikipedia", "flickr8k_classes_all"),
    *("flickr8k_classes_all_fne_z", "sam_pascal", "sam_nuswide_10k", "sam_nuswide_top10"),
    *("voc2007_multi", "mirflickr_multi", "nuswide_multi"),
    *("sam_pascal_lite", "wikipedia_strong", "wikipedia_strong_462"),
)
ONLINE = {"cmolrs", "fast_cmolrs", "full_sgd", "lrbs", "pl_ranking", "sam"}


def candidates(experiment):
    return math.prod(map(len, PARAMS.experiments[experiment].search.values()))


@pytest.mark.parametrize("table", TABLES)
def test_the_budgets_of_a_table_are_within_a_factor_of_two(table):
    counts = {name: candidates(name) for name in PARAMS.tables[table].experiments}
    assert 5 <= max(counts.values()) <= 2 * min(counts.values()), counts


@pytest.mark.parametrize("table", TABLES)
def test_every_online_and_ranking_method_tries_all_scalings(table):
    for name in PARAMS.tables[table].experiments:
        spec = PARAMS.experiments[name]
        if spec.method in ONLINE:
            assert len(set(spec.search["scaling"])) == 5, name


@pytest.mark.parametrize("table", TABLES)
def test_the_papers_settings_are_among_the_candidates(table):
    """What `methods` says of every option; no paper states `dims` for classes of other numbers."""
    for name in PARAMS.tables[table].experiments:
        spec = PARAMS.experiments[name]
        settings = PARAMS.plugin("methods", spec.method)["options"]
        for option in spec.search.keys() - {"dims"}:
            assert settings[option] in spec.search[option], (name, option)
