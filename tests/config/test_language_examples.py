"""The examples of the experiment language in docs/parameters.md."""

import re

import pytest
import yaml

from crossmodal.config.overlays import read_files
from crossmodal.config.sections import Sections
from tests.project_params import PATH

PAGE = (PATH.parent / "docs/parameters.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"\*\*(\w+)\*\*.*\n\n```yaml\n([^`]+)```\n\n((?:`[\w-]+`(?:, )?)+)\n")
EXAMPLES = {concept: (text, names) for concept, text, names in EXAMPLE.findall(PAGE)}
CONCEPTS = ["rows", "of", "base", "variants", "prefix", "grid", "search", "changes", "facts"]


@pytest.fixture(scope="module")
def entries():
    sections = read_files([PATH])
    plugins = {kind: sections[kind] for kind in ("datasets", "features", "methods")}
    return plugins | {"suite": "all", "suites": {}, "seeds": 3, "tables": {}, "figures": {}}


def parse(entries, concept):
    groups = yaml.safe_load(EXAMPLES[concept][0])
    return Sections.model_validate(entries | {"experiments": groups})


def test_each_concept_has_an_example():
    assert [*EXAMPLES] == [*CONCEPTS, "beside"]


@pytest.mark.parametrize("concept", EXAMPLES)
def test_example_stands_for_the_experiments_below(entries, concept):
    assert [*parse(entries, concept).experiments] == re.findall(r"`(.+?)`", EXAMPLES[concept][1])


@pytest.mark.parametrize(
    ("concept", "experiment", "row"),
    [
        ("of", "w_constant", "Constant"),
        ("variants", "f_fc7_sh", "FC7-SH"),
        ("grid", "w-0_5", "SAM, margin 0.5"),
        ("changes", "w", "CCA, imbalanced"),
        ("facts", "w", "CCA, accuracy 75.5"),
    ],
)
def test_example_has_the_row(entries, concept, experiment, row):
    assert parse(entries, concept).experiments[experiment].row() == row


def test_settings_of_the_examples_are_inherited(entries):
    constant = parse(entries, "of").experiments["w_constant"]
    assert (constant.method, constant.seeds) == ("sam", 5)
    assert parse(entries, "base").experiments["p_cca"].dataset == "pascal_sentences"
    changed = parse(entries, "prefix").experiments
    assert [changed[name].seeds for name in ("w_cca", "w_pls")] == [None, 1]
    assert parse(entries, "search").fit("w").searched_by == "first"
    assert parse(entries, "beside").experiments["w_sam"].beside == "w_cca"
