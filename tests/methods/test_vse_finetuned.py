import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.vse_finetuned import VSEFinetuned
from tests.methods.captions import captioned_files
from tests.methods.spoken import OWNERS, drawn, placed

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {
    "dims": 16,
    "word_dims": 5,
    "image_network": "squeezenet1_1",
    "image_weights": "random",
    "margin": 0.2,
    "learning_rate": 2e-4,
    "finetuning_rate": 2e-5,
    "decay_every": 15,
    "captions_per_epoch": "all",
    "batch": 4,
    "epochs": 1,
    "finetuning_epochs": 1,
}


@pytest.fixture(autouse=True)
def _small(with_small_crops):
    with_small_crops("squeezenet1_1")


@pytest.fixture
def split(rng):
    return captioned_files(rng)


def ready(split, **options):
    return placed(VSEFinetuned(**OPTIONS | options), split)


def test_image_map_of_unit_features_of_the_centre(split):
    method, view = ready(split), split.views["image"]
    squares = method.images.files.squares(np.arange(5))
    method.network.eval()
    features = method.network["trunk"](method.images.preparation.crops(squares, 1))
    expected = normalize(method.network["image"](normalize(features)))
    np.testing.assert_allclose(method.embed("image", view), expected.detach(), atol=1e-6)


def test_caption_unit_last_state(split):
    method, view = ready(split), split.views["text"]
    words = torch.from_numpy(view.features[7]).long()
    _, state = method.network["text"].gru(method.network["text"].words(words))
    expected = normalize(state)[0].detach()
    np.testing.assert_allclose(method.embed("text", view)[7], expected, atol=1e-6)


@pytest.mark.parametrize("phase", [0, 1])
def test_loss_of_hardest_negatives(split, phase):
    method = ready(split, batch=9)
    method.phase = phase
    method.optimizer()
    [batch] = drawn(method)
    loss = method.loss(batch).item()
    with torch.no_grad():  # the phase decides how the image network runs
        features = method.network["trunk"](method.images.preparation.normalised(batch.crops))
    i = method._map_images(features).detach().numpy()
    c = method.embed("text", split.views["text"])[batch.captions]
    s = i @ c.T
    expected = 0
    for k, own in enumerate(batch.images):
        wrong = np.flatnonzero(batch.images != own)
        expected += max(0, (0.2 + s[k, wrong] - s[k, k]).max())
        expected += max(0, (0.2 + s[wrong, k] - s[k, k]).max())
    assert loss == pytest.approx(expected, rel=1e-4)


def test_batches_crops_of_their_images(split):
    method = ready(split)
    batches = drawn(method)
    images, captions = (np.concatenate([batch[i] for batch in batches]) for i in (0, 1))
    assert [len(batch.crops) for batch in batches] == [4, 4]  # one alone has no negatives
    assert len({*captions}) == 8
    np.testing.assert_array_equal(images, OWNERS[captions])
    colours = method.images.files.squares(np.arange(5)).float().mean((1, 2))
    crops = torch.cat([batch.crops for batch in batches])
    assert crops.shape[1:] == (32, 32, 3)
    nearest = torch.cdist(crops.float().mean((1, 2)), colours).argmin(1)
    np.testing.assert_array_equal(nearest, images)


def test_crops_new_for_each_pair_and_epoch(split):
    method = ready(split, batch=9)
    [first], [again], [next_one] = (drawn(method, epoch) for epoch in (0, 0, 1))
    assert torch.equal(first.crops, again.crops)
    a, b = np.flatnonzero(first.images == 0)
    assert not torch.equal(first.crops[a], first.crops[b])
    assert not torch.equal(first.crops[a], next_one.crops[next_one.images == 0][0])


def test_image_network_learns_in_the_second_phase(rng, with_small_crops):
    name = "efficientnet_lite0"  # which has batch norms
    with_small_crops(name)
    method = ready(captioned_files(rng), image_network=name)
    for phase in (0, 1):
        method.phase = phase
        optimizer = method.optimizer()
        before = {k: v.clone() for k, v in method.network.state_dict().items()}
        method.network.train()
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        method.loss(drawn(method)[0]).backward()
        optimizer.step()
        after = method.network.state_dict()
        changed = {k.split(".")[0] for k, v in after.items() if not torch.equal(v, before[k])}
        assert changed == ({"image", "text"} if phase == 0 else {"image", "text", "trunk"})
        moved = {k.rpartition(".")[2] for k in before if not torch.equal(after[k], before[k])}
        assert ("running_mean" in moved) == (phase == 1)


def test_schedule_of_two_phases():
    schedule = VSEFinetuned(**OPTIONS | {"finetuning_epochs": 3, "clip": 0.5}).schedule
    assert [(p.epochs, p.learning_rate) for p in schedule.phases] == [(1, 2e-4), (3, 2e-5)]
    assert (schedule.decay, schedule.decay_every, schedule.clip) == (0.1, 15, 0.5)


def test_fit_in_two_phases_and_state_round_trip(split):
    speed = {"learning_rate": 0.003, "epochs": 60, "decay_every": 60, "batch": 9}
    method, run = VSEFinetuned(**OPTIONS | speed | {"finetuning_epochs": 2}), Run(0)
    method.fit(split, split, run)
    assert [row["phase"] for row in run.curve] == [0] * 60 + [1] * 2
    assert run.curve[0]["validation"] < 500 < 540 < selection_score(method, split)
    restored = VSEFinetuned(**OPTIONS)
    restored.restore(method.state(), split.views)
    for modality, view in split.views.items():
        np.testing.assert_array_equal(restored.embed(modality, view), method.embed(modality, view))


@pytest.mark.parametrize("views", [("image",), ("image", "text", "speech"), ("features", "text")])
def test_other_views_refused(split, views):
    rows = View(np.ones((5, 3), np.float32), np.arange(5), [*"abcde"], {})
    every = split.views | {"speech": split.views["text"], "features": rows}
    given = {v.replace("features", "image"): every[v] for v in views}
    with pytest.raises(CrossmodalError, match="two views, an image that is its file"):
        VSEFinetuned(**OPTIONS).build(given)
