"""Mutations of params.yaml: each is read, or refused with the key path or the line."""

import copy
import datetime
import random

import pytest
import yaml

from crossmodal.config import params
from crossmodal.errors import CrossmodalError
from tests.test_fuzz import mutate

TEXT = """
suite: small
suites:
  small: [wiki, other]
  big: wiki, other
seeds: 3
tables:
  wiki:
    title: Wikipedia
    experiments: [cca, wiki]
    metrics: [mAP, mAP@50]
    cited:
      {paper: VASE, table: Table II, dataset: Flickr8K, variant: vgg16/DAVEnet, methods: SISA (P)}
    map: {experiment: cca, labels: [a, b]}
    figures: [dims]
    margins: [cca]
    readout: own, posteriors
  other: {base: wiki, metrics: mAP, note: text, ranked: true}
figures:
  dims: {title: Dims, experiments: [grid], x: dims, y: mAP, direction: text-to-image}
  step: {base: dims, x: step, y: loss, direction: null}
experiments:
  wiki:
    dataset: wikipedia
    views: {image: sift, text: lda}
    relevance: category
    prefix: wiki
    variants: {raw: {}, changed: {changes: {wrong_labels: 0.5}}}
    published: {paper: CMOLRS, table: Table I, dataset: WIKI, method: CCA}
    rows:
      cca: {options: {ridge: 0.0}, search: {dims: [7, 8]}}
      slow: {of: cca, label: "slow {method}", beside: cca, seeds: 2}
  based: {base: wiki, variants: {raw: null}, rows: {slow: null}, options: {dims: 5}}
  cca:
    label: CCA
    dataset: wikipedia
    views: {image: sift, text: lda}
    relevance: category
    method: cca
    gpus: 1
    facts: {top1: 0.5}
  grid:
    dataset: wikipedia
    views: {image: sift, text: lda}
    relevance: labels
    method: cca
    grid: {dims: [7, 8], ridge: [0.1, 0.2]}
datasets:
  wikipedia: {protocol: cmolrs, validation: 231, seed: 0, media: false}
features:
  sift: {plugin: published, matrix: sift, modality: image}
  lda: {base: sift, plugin: published, matrix: lda, modality: text, label: LDA}
methods:
  cca: {dims: 10, ridge: 0.01, power: 0.0, label: CCA, published: CCA}
  other: {base: cca, dims: 5}
"""
CONFIG = yaml.safe_load(TEXT)
ABSENT, RENAMED = object(), object()
VALUES = [ABSENT, RENAMED, None, True, 0, -1, 1.5, 10**30, float("nan"), float("inf")]
VALUES += ["", "x", "a, b", "{x", "{0.x}", "../x", "\0", datetime.date(2020, 1, 1), b"x"]
VALUES += [[], ["x"], [None], [["x"]], [{}], {}, {"x": 1}, {"x": {}}, {"x": [1]}, {"x": None}]
VALUES += [{1: 2}, {None: 1}, {("x",): 1}]
SECTIONS = [key for key, value in CONFIG.items() if isinstance(value, dict)]
CASES = 60  # of each section


def paths(node, *at):
    """Key paths of all values inside of one."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield (*at, key)
            yield from paths(value, *at, key)


def changed(config, path, value):
    """The parameters with the value at one key path replaced or removed, or its key."""
    config = place = copy.deepcopy(config)
    *parents, key = path
    for parent in parents:
        place = place[parent]
    if value is RENAMED and isinstance(place, dict):
        place[5] = place.pop(key)
    elif value in (ABSENT, RENAMED):
        del place[key]
    else:
        place[key] = value
    return config


def outcome(read):
    """The message if parameters are refused, or nothing."""
    try:
        read()
    except CrossmodalError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("section", SECTIONS)
def test_any_other_value_is_read_or_refused_with_its_key(section):
    assert outcome(lambda: params.parse(CONFIG)) == ""
    draw, at = random.Random(section), [*paths(CONFIG[section], section)]
    cases = [(draw.choice(at), draw.choice(VALUES)) for _ in range(CASES)]
    messages = [outcome(lambda c=c: params.parse(changed(CONFIG, *c))) for c in cases]
    assert any(messages)
    lines = [line for message in messages for line in message.splitlines()]
    assert [line for line in lines if not line.startswith("params.yaml: ")] == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("tables.other.base", ["x"], r"tables\.other: \['x'\] is unknown"),
        ("tables.other.base", {"x": 1}, r"tables\.other: \{'x': 1\} is unknown"),
        ("methods.other.base", "", r"methods\.other: '' is unknown"),
        ("tables.wiki.cited.methods", [["x"]], r"tables\.wiki\.cited\.methods"),
        ("tables.wiki", RENAMED, r"tables\.5: the key 5 is no text"),
        ("experiments.grid.grid.dims", [b"x"], r"grid\.dims\.0: b'x' is neither text nor number"),
    ],
)
def test_a_value_of_another_type_is_named(path, value, message):
    assert outcome(lambda: params.parse(CONFIG)) == ""
    with pytest.raises(CrossmodalError, match=rf"params\.yaml: .*{message}"):
        params.parse(changed(CONFIG, path.split("."), value))


def test_any_other_text_is_read_or_refused_with_its_file(tmp_path):
    path, messages = tmp_path / "params.yaml", []
    for case in range(2 * CASES):
        path.write_bytes(mutate(TEXT.encode(), random.Random(case)))
        messages.append(outcome(lambda: params.read(path)))
    assert [m for m in messages if m and not m.startswith(str(path))] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("? [a]\n: 1\n", "line 1: found unhashable key"),
        ("a: 2020-13-45\n", "month must be in"),
        ("a: !!int b\n", "invalid literal"),
        ("a:\n- " + "[" * 10**5 + "]" * 10**5, "line 2: more than 50 brackets are open"),
    ],
)
def test_yaml_that_stands_for_no_value_is_refused(tmp_path, text, message):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    assert message in outcome(lambda: params.read(path))
