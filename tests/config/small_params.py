"""A small and valid params.yaml, and what is said of it when a key is changed."""

import copy

import pytest
import yaml

from crossmodal.config import params
from crossmodal.errors import CrossmodalError

VALID = """
suite: small
suites:
  small: [wiki]
seeds: 3
tables:
  wiki:
    title: Wikipedia
    experiments: [wiki_cca]
    metrics: [mAP, mAP@50]
figures: {}
experiments:
  wiki_cca:
    label: CCA
    dataset: wikipedia
    views: {image: sift, text: lda}
    relevance: category
    method: cca
    options: {ridge: 0.0}
    search: {dims: [7, 8]}
    published: {paper: CMOLRS, table: Table I, dataset: WIKI, method: CCA}
datasets:
  wikipedia: {protocol: cmolrs, validation: 231, seed: 0, media: false}
features:
  sift: {plugin: published, matrix: sift, modality: image}
  lda: {plugin: published, matrix: lda, modality: text}
methods:
  cca: {dims: 10, ridge: 0.01, power: 0.0}
"""
EXPERIMENT = "experiments/wiki_cca"
DIMS = {"title": "Dims", "experiments": ["wiki_cca"], "x": "dims", "y": "mAP"}
DIMS |= {"direction": "text-to-image"}
ABSENT = object()


def changed(path, value):
    """The valid parameters with the value at one key path replaced, added or removed."""
    config = copy.deepcopy(yaml.safe_load(VALID))
    *parents, key = path.split("/")
    place = config
    for parent in parents:
        place = place[parent]
    if value is ABSENT:
        del place[key]
    else:
        place[key] = value
    return config


def message(config):
    """What is said about wrong parameters."""
    with pytest.raises(CrossmodalError) as caught:
        params.parse(config)
    return str(caught.value)
