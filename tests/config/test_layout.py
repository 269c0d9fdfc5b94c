"""The layout of params.yaml and of the files in experiments/."""

import importlib
import json
import re

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.project_params import FILES, PATH

ROOT = PATH.parent
STUDIES = [path for path in FILES if path.parent.name == "studies"]
SECTIONS = ("suite", "suites", "seeds", "deterministic", "datasets", "features", "methods")

files = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def flows(path):
    """Lines of the begin and of the end of each flow mapping or sequence that is not empty."""
    starts = []
    for event in yaml.parse(path.read_text(), yaml.CSafeLoader):
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            starts.append(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            start = starts.pop()
            if start.flow_style:
                yield start.start_mark.line, event.end_mark.line


def nodes(node):
    """Each key of a file with its value."""
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        yield key, value
        yield from nodes(value)


@files
def test_lines__no_blank_at_the_end(path):
    assert not re.search(r"[ \t]$", path.read_text(), re.MULTILINE)


@files
def test_flow_mappings__one_line_of_at_most_90_columns(path):
    lines = path.read_text().splitlines()
    for start, end in flows(path):
        assert start == end, lines[start]
        assert len(lines[start].partition("  #")[0]) <= 90, lines[start]


@files
def test_values__begin_in_the_line_of_their_key(path):
    for key, value in nodes(yaml.compose(path.read_text(), yaml.CSafeLoader)):
        if isinstance(value, yaml.ScalarNode):
            assert key.start_mark.line == value.start_mark.line, key.value


def test_params_yaml__what_people_set_in_at_most_600_lines():
    assert tuple(yaml.safe_load(PATH.read_text())) == SECTIONS
    assert len(PATH.read_text().splitlines()) <= 600


@files
def test_first_line__names_the_schema(path):
    first = path.read_text().partition("\n")[0]
    schema = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / schema).resolve() == ROOT / "params.schema.json"


@files
def test_schema__admits_the_file_but_no_other_key(path):
    content = yaml.safe_load(path.read_text())
    validator = Draft202012Validator(json.loads((ROOT / "params.schema.json").read_text()))
    assert [error.message for error in validator.iter_errors(content)] == []
    section = content.get("methods") or content["experiments"]
    next(iter(section.values()))["metod"] = "cca"
    (error,) = validator.iter_errors(content)
    assert "metod" in error.message


def test_schema__is_that_of_the_models(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    made = importlib.import_module("make_schema").schema()
    assert json.loads((ROOT / "params.schema.json").read_text()) == made


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_studies__headed_by_a_question(path):
    comment = re.match(r"((?:#.*\n)+)", path.read_text())
    assert "?" in comment[0]


def test_dvc__has_all_files_as_params():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    assert stages["params"] == [str(path.relative_to(ROOT)) for path in FILES]
    assert all({"params.yaml", "experiments"} <= {*s["deps"]} for s in stages["stages"].values())
