"""Whether a method takes the views of an experiment is known before any job runs."""

from itertools import permutations

import pytest

from crossmodal.config import params
from crossmodal.errors import CrossmodalError
from tests.project_params import PARAMS

VECTORS = {"image": "lite0_fc7", "text": "bow_item", "speech": "logmel_statistics"}
OF_VECTORS = "cca, cfa, kcca, pls, gmlda, three_view_cca, ml_cca, lgcfl, jrl, ridge, sam, dcca, "
OF_VECTORS += "fast_cmolrs, cmolrs, full_sgd, lrbs, pl_ranking"


def check(method, *views, **options):
    """Experiments with the project's datasets, features and one of its methods."""
    experiment = {"label": "", "dataset": "scenes", "relevance": "category"}
    experiment |= {"method": method, "options": options}
    names = [f"mine{number}" for number in range(len(views))]
    return params.parse(
        {
            "suite": "mine",
            "suites": {"mine": ["mine"]},
            "seeds": 1,
            "tables": {"mine": {"title": "", "experiments": names, "metrics": ["mAP"]}},
            "figures": {},
            "experiments": {
                name: experiment | {"views": chosen}
                for name, chosen in zip(names, views, strict=True)
            },
            "datasets": {"scenes": PARAMS.datasets["scenes"]},
            "features": PARAMS.features,
            "methods": {method: PARAMS.methods[method]},
        }
    )


@pytest.mark.parametrize("method", OF_VECTORS.split(", "))
def test_methods_of_vectors_take_every_pair_of_modalities(method):
    pairs = permutations(VECTORS, 2)
    check(method, *({modality: VECTORS[modality] for modality in pair} for pair in pairs))


@pytest.mark.parametrize(
    ("method", "views"),
    [
        ("sh", {"text": "tokens", "image": "lite0_fne"}),
        ("vase", {"image": "lite0_fc7", "speech": "logmel", "text": "transcripts"}),
        ("vase_vgg16", {"speech": "mfcc", "image": "pictures"}),
        ("sisa", {"image": "lite0_maps", "speech": "logmel"}),
        ("sisa", {"image": "lite0_fc7", "speech": "logmel"}),
        ("acmr", {"text": "bow_item", "image": "lite0_fc7"}),
    ],
)
def test_what_suits_is_taken(method, views):
    check(method, views)


@pytest.mark.parametrize(
    ("method", "views", "fragments"),
    [
        ("cca", {"image": "lite0_fc7", "speech": "logmel"}, ["speech", "logmel", "sequence"]),
        ("cca", {"image": "lite0_maps", "text": "bow_item"}, ["image", "maps", "lite0_fne"]),
        ("sam", {"image": "pictures", "text": "bow_item"}, ["image", "files", "takes vector"]),
        ("sh", {"image": "lite0_fc7", "text": "bow_item"}, ["text", "vector", "that fit: tokens"]),
        ("sh", {"text": "tokens", "speech": "logmel"}, ["speech", "takes no speech as the first"]),
        ("vase", {"image": "pictures", "speech": "logmel"}, ["image", "'vase' takes vector"]),
        ("vase", {"image": "lite0_maps", "speech": "logmel"}, ["image", "maps"]),
        ("vase", {"text": "tokens", "speech": "logmel"}, ["text", "it takes: image, speech"]),
        ("vase_vgg16", {"image": "lite0_fc7", "speech": "logmel"}, ["image", "takes files"]),
        ("sisa", {"image": "lite0_maps", "speech": "logmel_statistics"}, ["speech", "mfcc"]),
        ("cca", VECTORS, ["speech", "takes no speech as a further view", "it takes: none"]),
        ("corr_ae", {"text": "bow_item", "speech": "logmel_statistics"}, ["speech", "image, text"]),
    ],
)
def test_what_does_not_suit_is_named_with_what_does(method, views, fragments):
    with pytest.raises(CrossmodalError) as caught:
        check(method, views)
    modality, *others = fragments
    assert f"params.yaml: experiments.mine0.views.{modality}: " in str(caught.value)
    assert [fragment for fragment in others if fragment not in str(caught.value)] == []


def test_layers_of_a_modality_make_a_method_take_it():
    views = {"text": "bow_item", "speech": "logmel_statistics"}
    check("deep_sm", views, hidden={"text": [64], "speech": []})
