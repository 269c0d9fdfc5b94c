import re
from pathlib import Path

import pytest

from crossmodal.config import plugins
from crossmodal.config.deviations import read_scopes, sections_of
from tests.project_params import PARAMS

PAGE = Path(__file__).parents[2] / "docs/deviations.md"


def test_sections_are_those_of_the_page():
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert list(read_scopes()) == headings


@pytest.mark.parametrize("kind", plugins.BASES)
def test_scopes_name_plugins_that_exist(kind):
    named = {name for scope in read_scopes().values() for name in getattr(scope, kind)}
    assert named <= {*plugins.names(kind)}


def test_readout_section_is_about_all_category_methods():
    tasks = {PARAMS.fit(name).plugin: PARAMS.facts_of(name).task for name in PARAMS.experiments}
    category = {method for method, task in tasks.items() if task == "category"}
    assert category == {*read_scopes()["Readout, scaling, search"].methods}


def test_rows_have_the_sections_of_their_plugins():
    assert sections_of("scenes", {"bow"}, "ridge") == ["Everywhere"]
    assert sections_of("nuswide", {"bow"}, "ridge") == ["Everywhere", "NUS-WIDE"]
    both = sections_of("scenes", {"bow", "fne"}, "multimodal_embedding")
    assert both == ["Everywhere", "FNE and the caption pipelines"]


def test_papers_of_a_table_are_stated_or_of_its_rows():
    assert PARAMS.tables["wikipedia"].papers == PARAMS.papers_of("wikipedia") == ["CMOLRS", "SAM"]
    assert not PARAMS.tables["sam_pascal"].papers
    assert PARAMS.papers_of("sam_pascal") == ["SAM"]
