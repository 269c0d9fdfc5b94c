import pytest

from crossmodal.metrics.blocks import BLOCK_BYTES, STRIP_BYTES
from crossmodal.resources.fits import closed_form, fit, scaled_bytes, staged, training
from crossmodal.resources.needs import INTERPRETER, Resources, in_turn
from crossmodal.resources.networks import Workload, dense
from crossmodal.resources.sizes import IN_MEMORY, Extent, FitSize, RowSize

SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
VIEWS = {"image": RowSize(10_000, 400), "text": RowSize(50_000, 100)}
SIZE = FitSize(VIEWS, SHARES, 8_000, 10, 10)


def test_sizes_of_splits_are_shares_of_the_stored_rows():
    assert SIZE.train["image"].bytes == 0.8 * 10_000 * 400 * 4
    assert SIZE.pairs == 40_000
    assert SIZE.held("train", "validation") == pytest.approx(0.9 * 4 * (4e6 + 5e6))
    assert SIZE.repeated == 4 * 40_000 * 400  # each image has five texts
    assert SIZE.scores == 1_000 * 5_000


def test_prepared_media_are_images_clips_and_matrices():
    extent = Extent({"train": 2, "test": 1}, image=10, clip=1, clips=2, columns={"tags": 5})
    assert extent.total == 3
    assert extent.media == 3 * (10 + 2 * 32_044 + 10)


def test_a_closed_form_needs_matrices_of_the_sum_of_the_widths():
    more = [closed_form(SIZE, matrices).memory for matrices in (100, 101)]
    assert more[1] - more[0] == pytest.approx(8 * 500**2)
    twice = [closed_form(SIZE, 1, passes).operations for passes in (1, 2)]
    assert twice[1] - twice[0] == 2 * 40_000 * 500**2


def test_a_fit_holds_its_training_and_validation_rows():
    held = SIZE.held("train", "validation")
    assert fit(SIZE, INTERPRETER, 0, 0, 0).memory == INTERPRETER + held + SIZE.scoring
    assert fit(SIZE, INTERPRETER, 1e9, 0, 0).memory == INTERPRETER + held + 1e9


@pytest.mark.parametrize("count", [100, 3_000, 50_000])
def test_scoring_holds_a_block_of_scores_and_ranks_a_strip(count):
    views = {"image": RowSize(10 * count, 4), "text": RowSize(10 * count, 4)}
    needed = FitSize(views, SHARES, 8 * count, 10, 10).scoring
    assert needed <= BLOCK_BYTES
    assert needed == min(BLOCK_BYTES, 4 * count**2 + STRIP_BYTES)


def test_of_many_image_files_those_of_a_batch_are_read():
    files = RowSize(10_000, 400_000, itemsize=1, steps=400_000)
    size = FitSize(VIEWS | {"image": files}, SHARES, 8_000, 10, 10)
    assert size.held("train") == IN_MEMORY + SIZE.train["text"].bytes
    assert size.placed == SIZE.train["text"].bytes


def test_training_holds_each_parameter_in_weights_gradients_and_slots():
    small, large = (training(SIZE, Workload(p, slots=2), 1, 10).memory for p in (1e8, 2e8))
    assert large - small == 4 * 5 * 1e8
    operations = [training(SIZE, dense(10, 5), epochs, 10).operations for epochs in (1, 3)]
    assert operations == [6 * 50 * 40_000, 3 * 6 * 50 * 40_000]


def test_stages_hold_all_networks_but_train_one_after_the_other():
    stages = [(dense(10, 5), 2, 0), (dense(5, 3), 1, 0)]
    assert staged(SIZE, stages, 10).operations == pytest.approx(6 * 10 * (2 * 50 + 15))


def test_rows_that_pca_scales_need_fewer_columns_and_its_matrices():
    wide = FitSize({m: RowSize(1e6, r.width) for m, r in VIEWS.items()}, SHARES, 8e5, 10, 10)
    assert scaled_bytes(wide, 0.95) < scaled_bytes(wide, None)


def test_jobs_in_turn_take_the_time_of_all_and_the_memory_of_the_largest():
    jobs = [Resources(1e9, 4e10, 1.0), Resources(2e9, 2e10, 2.0)]
    both = in_turn(jobs)
    assert (both.memory, both.operations, both.seconds) == (2e9, 6e10, 3.0)
    assert both.time(gpu=False) == pytest.approx(3.0 + 3.0)
