"""No method computes what a GPU cannot repeat, which `deterministic: true` would refuse there."""

from importlib import import_module

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from crossmodal.config import plugins
from crossmodal.learning.method import Run
from crossmodal.pretrained.backbones import NETWORKS, Vectors, without_memory
from tests.methods import spoken
from tests.methods.captions import captioned_files, random_captions
from tests.methods.maps import captioned_maps, spoken_maps

pytestmark = pytest.mark.usefixtures("cpu")

ON_MATRICES = ["acmr", "ccl", "cmdn", "corr_ae", "dcca", "deep_sm", "embedding_network"]
ON_MATRICES += ["lrbs", "pl_ranking", "sam", "two_way_net"]
ON_WORDS = ["bi_lstm", "m_cnn", "multimodal_embedding", "w2vv"]
ON_SPEECH = {"vase": "FILES", "matchmap": "SMALL"}
ON_FILES = ["vse_finetuned"]
ON_MAPS = ["dan", "sm_lstm"]
ON_WORDS_OF_SPEECH = ["spectrogram_cnn"]
SHORT = dict.fromkeys(["epochs", "finetuning_epochs", "word_epochs", "iterations", "tries"], 1)
STEPS = ["pretraining_steps", "correspondence_steps", "classifier_steps", "steps"]
SHORT |= dict.fromkeys(STEPS, 3)
# what PyTorch's documentation of `use_deterministic_algorithms` lists
REFUSED = {"_adaptive_avg_pool2d_backward", "adaptive_max_pool2d_backward", "avg_pool3d_backward"}
REFUSED |= {"max_pool3d_with_indices_backward", "max_unpool2d", "max_unpool3d", "histc", "put"}
REFUSED |= {"nll_loss2d_forward", "_ctc_loss_backward", "grid_sampler_2d_backward", "median"}
REFUSED |= {f"upsample_{kind}_backward" for kind in ("linear1d", "bilinear2d", "bicubic2d")}
REFUSED |= {f"reflection_pad{axes}d_backward" for axes in (1, 2, 3)}


class Repeatable(TorchDispatchMode):
    """Refuses, on a processor too, what has no deterministic implementation on a GPU."""

    def __torch_dispatch__(self, function, types, given=(), named=None):
        name = function.overloadpacket.__name__.rstrip("_")
        fractions = name == "cumsum" and given[0].is_floating_point()
        if fractions or name in REFUSED:
            pytest.fail(f"{function} is not repeatable on a GPU")
        return function(*given, **named or {})


def options(name, constant="OPTIONS"):
    chosen = getattr(import_module(f"tests.methods.test_{name}"), constant)
    return chosen | {key: value for key, value in SHORT.items() if chosen.get(key)}


def fit(name, split, chosen):
    method = plugins.make("methods", name, chosen, name)
    with Repeatable():
        method.fit(split, split, Run(seed=0))


def test_all_methods_that_use_a_gpu_are_tested():
    names = plugins.names("methods")
    on_a_gpu = [name for name in names if plugins.load("methods", name).gpu]
    tested = [*ON_MATRICES, *ON_WORDS, *ON_SPEECH, *ON_FILES, *ON_MAPS, *ON_WORDS_OF_SPEECH]
    assert on_a_gpu == sorted(tested)


@pytest.mark.parametrize("name", ON_MATRICES)
def test_fits_on_matrices(name, classes):
    fit(name, classes(0), options(name))


@pytest.mark.parametrize("name", ON_WORDS)
def test_fits_on_words(name, make_split):
    fit(name, random_captions(make_split, 0), options(name))


@pytest.mark.parametrize("name", ON_SPEECH)
def test_fits_on_speech(name, rng):
    texts = spoken.sentences(rng, len(spoken.OWNERS)) if name == "vase" else None
    clips, images = spoken.noise(rng, spoken.FRAMES), spoken.image_files(rng, 5)
    split = spoken.make_split(images, clips, spoken.OWNERS, texts)
    chosen = options(name, ON_SPEECH[name]) | {"image_network": "squeezenet1_1", "batch": 9}
    fit(name, split, chosen | {"image_weights": "random", "trim": True})


@pytest.mark.parametrize("name", ON_FILES)
def test_fits_on_image_files(name, rng):
    fit(name, captioned_files(rng), options(name) | {"batch": 9})


@pytest.mark.parametrize("name", ON_MAPS)
def test_fits_on_maps(name, make_split, rng):
    fit(name, captioned_maps(make_split, rng), options(name))


@pytest.mark.parametrize("name", ON_WORDS_OF_SPEECH)
def test_fits_on_words_of_speech(name, make_split, rng):
    fit(name, spoken_maps(make_split, rng), options(name))


@pytest.mark.parametrize("name", NETWORKS)
def test_image_networks_that_learn(name):
    network = Vectors(without_memory(name).requires_grad_(True), name)
    side = NETWORKS[name].preparation.crop
    with Repeatable():
        network(torch.empty(2, 3, side, side, device="meta")).sum().backward()


def test_a_running_sum_of_fractions_is_refused():
    with Repeatable(), pytest.raises(pytest.fail.Exception, match="cumsum"):
        torch.from_numpy(np.ones(3)).cumsum(0)
