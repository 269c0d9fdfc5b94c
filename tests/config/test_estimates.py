"""Every job of the project's own params.yaml has an estimate, which follows from its data."""

import pytest

from crossmodal.config.estimates import Estimates
from crossmodal.resources.needs import GB
from tests.project_params import PARAMS

ESTIMATES = Estimates(PARAMS)


def test_every_job_has_a_finite_estimate():
    for job in ESTIMATES.jobs():
        found = (
            PARAMS.needs(job[0], PARAMS.experiments[job[1]].dataset, *job[1:])
            if (job[0] in ("train", "embed", "evaluate"))
            else PARAMS.needs(job[0], *job[1:][:1], *job[1:])
        )
        assert 0.1 * GB < found.memory < 200 * GB, job
        assert 0 < found.time(gpu=True) <= found.time(gpu=False) < 1e10, job


@pytest.mark.parametrize(
    ("feature", "columns", "itemsize"),
    [("vgg16_activations", 12_416, 4), ("vgg16_fne", 12_416, 1), ("vgg16_fc7", 4_096, 4)],
)
def test_features_of_coco_have_their_published_sizes(feature, columns, itemsize):
    size = ESTIMATES.row_size(ESTIMATES.extent("coco"), feature)
    assert (size.count, size.width, size.itemsize) == (84_783, columns, itemsize)


def test_a_fit_learns_from_the_training_split():
    size = ESTIMATES.fit_size("nuswide_top10_cca")
    assert size.train["image"].count == pytest.approx(42_941)
    assert size.train["text"].width == 1_000
    assert size.labels == size.label_sets == 10


def test_searched_options_are_fitted_in_turn():
    (spec,) = [PARAMS.experiments["voc2007_cca"]]
    combinations = len(spec.search["ridge"]) * len(spec.search["dims"])
    searched, single = (ESTIMATES.train(f"{d}_cca") for d in ("voc2007", "nuswide_top10"))
    assert combinations == 6
    assert searched.seconds > 5 * single.seconds / 10


def test_what_does_not_fit_a_small_machine_is_known_before_it_runs():
    assert ESTIMATES.train("places_vgg16_base").memory > 20 * GB
    assert ESTIMATES.train("scenes_cca").memory < 2 * GB


PAPER = [name for table in PARAMS.suites["vase_paper"] for name in PARAMS.tables[table].experiments]


@pytest.mark.parametrize("name", dict.fromkeys(PAPER))
def test_speech_and_images_of_the_paper_s_size_fit_one_gpu_and_its_host(name):
    dataset = PARAMS.experiments[name].dataset
    fit, embed = (PARAMS.needs(rule, dataset, name) for rule in ("train", "embed"))
    assert fit.gpu_memory < 70 * GB
    assert fit.memory - fit.moved < 48 * GB
    assert embed.memory < 8 * GB


def test_scores_of_matchmaps_take_the_time_of_all_their_parts():
    misa, sisa = (
        PARAMS.needs("evaluate", "flickr8k_recorded", f"flickr8k_{kind}")
        for kind in ("misa", "sisa")
    )
    steps = ESTIMATES.fit_size("flickr8k_misa").stored["speech"].steps / 16
    assert misa.operations == pytest.approx(196 * steps * sisa.operations)
    assert misa.time(gpu=False) > 3600 > sisa.time(gpu=False)
