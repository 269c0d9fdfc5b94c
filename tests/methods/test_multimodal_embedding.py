from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from crossmodal.config import plugins
from crossmodal.config.published_numbers import published_numbers
from crossmodal.data.feature_file import Ragged
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.multimodal_embedding import MultimodalEmbedding
from tests.methods.captions import WIDTH, random_captions
from tests.project_params import PARAMS

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {
    "dims": 32,
    "word_dims": 24,
    "initialisation": "orthogonal",
    "similarity": "cosine",
    "loss": "sum",
    "margin": 0.2,
    "learning_rate": 0.005,
    "captions_per_epoch": "one",
    "batch": 16,
    "epochs": 2,
}
ORDER = {"similarity": "order", "absolute": True, "margin": 0.05}
CURRICULUM = {"loss": "sum-max", "finetuning_rate": 0.005}
PIPELINES = {
    "SH": {},
    "MH": {"loss": "max"},
    "SOE": ORDER,
    "MOE": ORDER | {"loss": "max"},
    "PH": CURRICULUM,
    "POE": ORDER | CURRICULUM,
}
LOSSES = PIPELINES | {"Order++": {"similarity": "order-norm", "loss": "max"}}


@pytest.fixture
def captioned(make_split):
    return partial(random_captions, make_split)


def placed(split, **options):
    """A method with an untrained network, ready for its first batch."""
    method = MultimodalEmbedding(**OPTIONS | options)
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def test_a_caption_is_embedded_alike_alone_and_among_longer_ones(captioned, make_split):
    split = captioned(0, count=8)
    method = placed(split)
    together = method.embed("text", split.views["text"])
    for row in range(40):
        caption = split.views["text"].features.take(np.array([row]))
        alone = make_split({"text": caption}).views["text"]
        np.testing.assert_allclose(method.embed("text", alone), together[[row]], atol=1e-6)


def test_rows_keep_their_order_over_several_pieces(captioned, make_split):
    text = captioned(0, count=300).views["text"]  # 1,500 captions: three pieces
    method = placed(captioned(0))
    last = make_split({"text": text.features.take(np.arange(1400, 1500))}).views["text"]
    whole = method.embed("text", text)
    np.testing.assert_allclose(method.embed("text", last), whole[1400:], atol=1e-6)


def test_image_feature_norms_change_nothing(captioned, rng):
    split = captioned(0)
    batch = (np.arange(16), np.arange(0, 80, 5))
    outputs, gradients = [], []
    for scale in (1, rng.uniform(0.01, 100, (40, 1)).astype(np.float32)):
        split.views["image"].features[:] *= scale
        method = placed(split)
        method.loss(batch).backward()
        outputs.append(method.embed("image", split.views["image"]))
        gradients.append(method.network["image"].weight.grad)
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-6)
    assert gradients[0].abs().max() > 0.1
    torch.testing.assert_close(gradients[0], gradients[1])


def test_small_integers_serve_as_image_features(captioned, make_split, rng):
    integers = rng.integers(-1, 2, (12, WIDTH)).astype(np.int8)
    method = placed(captioned(0))
    small, wide = (make_split({"image": x}).views["image"] for x in (integers, integers * 1.0))
    np.testing.assert_array_equal(method.embed("image", small), method.embed("image", wide))


def test_each_tensor_is_clipped_by_itself(captioned):
    method = placed(captioned(0))
    trained = [p for p in method.network.parameters() if p.requires_grad]
    for parameter, norm in zip(trained, [5.0, 1.9, 1.5, 2.5, 1.0], strict=True):
        parameter.grad = torch.full_like(parameter, norm / np.sqrt(parameter.numel()))
    untouched = [trained[k].grad.clone() for k in (1, 2, 4)]
    method.clip()
    norms = [p.grad.norm().item() for p in trained]
    assert norms == pytest.approx([2.0, 1.9, 1.5, 2.0, 1.0], rel=1e-5)  # together more than 2
    for k, before in zip((1, 2, 4), untouched, strict=True):
        assert torch.equal(trained[k].grad, before)


def test_the_image_map_starts_uniform_without_a_bias(captioned):
    image = placed(captioned(0)).network["image"]
    bound = np.sqrt(6 / (WIDTH + 32))
    assert 0.95 * bound < image.weight.abs().max() <= bound
    assert image.bias is None


def test_released_image_map_has_a_zero_initial_bias(captioned):
    split = captioned(0)
    assert (placed(split, image_bias=True).network["image"].bias == 0).all()
    method = MultimodalEmbedding(**OPTIONS | {"image_bias": True})
    method.fit(split, captioned(1), Run(seed=0))
    assert np.abs(method.state()["image.bias"]).min() > 0


def test_training_moves_every_tensor_but_the_second_bias(captioned):
    split = captioned(0)
    before = placed(split).network.state_dict()
    method = MultimodalEmbedding(**OPTIONS)
    method.fit(split, captioned(1), Run(seed=0))
    after = method.state()
    assert (after["text.gru.bias_hh_l0"] == 0).all()
    moved = {name for name, value in before.items() if not np.array_equal(after[name], value)}
    assert set(before) - moved == {"text.gru.bias_hh_l0"}


@pytest.mark.parametrize(("width", "millions"), [(12_416, 40.1), (4_096, 27.3)])
def test_networks_have_the_published_numbers_of_parameters(make_split, width, millions):
    views = {"image": np.empty((1, width), np.int8), "text": Ragged.concatenate([np.arange(3)])}
    split = make_split(views, vocabulary=["word"] * 9_000)
    method = MultimodalEmbedding(**OPTIONS | {"dims": 1536, "word_dims": 1024})
    with torch.device("meta"):
        network = method.build(split.views)
    count = sum(p.numel() for p in network.parameters() if p.requires_grad)
    assert count / 1e6 == pytest.approx(millions, abs=0.05)


def test_epoch_takes_each_image_at_most_once(captioned, rng):
    split = captioned(0, count=40)
    batches = list(placed(split, batch=16).batches(0, rng))
    assert [len(images) for images, _ in batches] == [16, 16]  # the last 8 are dropped
    images, captions = (np.concatenate(part) for part in zip(*batches, strict=True))
    assert len(np.unique(images)) == 32
    np.testing.assert_array_equal(split.views["text"].items[captions], images)


def test_fewer_images_than_a_batch_make_one_batch(captioned, rng):
    ((images, _),) = placed(captioned(0, count=10), batch=16).batches(0, rng)
    assert sorted(images) == list(range(10))


def test_captions_of_an_image_are_equally_frequent(captioned, rng):
    method = placed(captioned(0, count=32))
    epochs = 500
    drawn = [captions for epoch in range(epochs) for _, captions in method.batches(epoch, rng)]
    counts = np.bincount(np.concatenate(drawn) % 5, minlength=5)  # by place among the five
    expected, deviation = epochs * 32 / 5, np.sqrt(epochs * 32 * 0.2 * 0.8)
    assert np.abs(counts - expected).max() < 4 * deviation


def test_seeds_reproduce_and_differ(captioned):
    def weights(seed):
        method = MultimodalEmbedding(**OPTIONS)
        method.fit(captioned(0), captioned(1), Run(seed))
        return method.state()["text.gru.weight_hh_l0"]

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


@pytest.mark.parametrize("pipeline", ["SH", "SOE"])
def test_sixty_four_pairs_are_learnt_by_heart(captioned, pipeline):
    split = captioned(0, count=64, captions=1)
    method = MultimodalEmbedding(**OPTIONS | PIPELINES[pipeline] | {"epochs": 40})
    method.fit(split, split, Run(seed=0))
    assert selection_score(method, split) == 600  # six recalls of 100


def test_weights_are_those_of_the_best_validation_epoch(captioned):
    split, run = captioned(0), Run(seed=0)
    method = MultimodalEmbedding(**OPTIONS | {"epochs": 15})
    method.learning_rate_at = lambda epoch, step: 0.005 if epoch < 12 else 10.0  # undoes it all
    method.fit(split, split, run)
    scores = [row["validation"] for row in run.curve]
    assert max(scores) > scores[-1]
    assert selection_score(method, split) == max(scores)


@pytest.mark.parametrize("pipeline", LOSSES)
def test_every_pipeline_is_configuration_and_learns(captioned, pipeline):
    """Above chance, which is 12.8 of 600 for 64 images with two captions each."""
    split = captioned(0, count=64, captions=2)
    method = MultimodalEmbedding(**OPTIONS | LOSSES[pipeline] | {"epochs": 12})
    method.fit(split, split, Run(seed=0))
    assert selection_score(method, split) > 150


@pytest.mark.parametrize("pipeline", LOSSES)
def test_the_loss_is_that_of_the_embeddings(captioned, rng, pipeline):
    """By loops over the pairs of a batch, from what `embed` and `score` give."""
    split = captioned(0)
    method = placed(split, **LOSSES[pipeline])
    images, captions = next(iter(method.batches(0, rng)))
    i, c = (method.embed(m, split.views[m])[r] for m, r in (("image", images), ("text", captions)))
    s = method.score(i, c, ("image", "text")).astype(float)
    positive, wrong = np.diag(s), ~np.eye(len(s), dtype=bool)
    hinges = [
        np.maximum(0, method.options.margin + x - positive[:, None]) * wrong for x in (s, s.T)
    ]
    for phase, loss in enumerate(method.losses):
        method.phase = phase
        reduce = np.sum if loss == "sum" else np.max
        expected = sum(reduce(hinge, axis=1).sum() for hinge in hinges)
        assert method.loss((images, captions)).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("pipeline", "power"), [("SOE", 1), ("Order++", 0.5)])
@pytest.mark.parametrize("direction", [("image", "text"), ("text", "image")])
def test_order_scores_compare_captions_with_images(rng, direction, pipeline, power):
    method = MultimodalEmbedding(**OPTIONS | LOSSES[pipeline])
    rows = {m: rng.random((n, 32), np.float32) for m, n in (("image", 5), ("text", 8))}
    expected = -((np.maximum(0, rows["text"] - rows["image"][:, None]) ** 2).sum(2) ** power)
    found = method.score(rows[direction[0]], rows[direction[1]], direction)
    wanted = expected if direction[0] == "image" else expected.T
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_absolute_embeddings_are_unit_vectors_in_one_orthant(captioned):
    split = captioned(0)
    for modality, view in split.views.items():
        plain, absolute = (placed(split, absolute=a).embed(modality, view) for a in (False, True))
        np.testing.assert_array_equal(absolute, np.abs(plain))
        np.testing.assert_allclose(np.linalg.norm(absolute, axis=1), 1, rtol=1e-6)
        assert plain.min() < 0


def test_all_captions_of_an_epoch_are_each_taken_once(captioned, rng):
    split = captioned(0, count=32)
    batches = list(placed(split, captions_per_epoch="all").batches(0, rng))
    images, captions = (np.concatenate(part) for part in zip(*batches, strict=True))
    assert sorted(captions) == list(range(160))
    np.testing.assert_array_equal(split.views["text"].items[captions], images)


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_captions_of_one_image_are_not_negatives_of_each_other(captioned, loss):
    """Two images with two captions each: only the other image's count, by hand."""
    split = captioned(0)
    method = placed(split, loss=loss)
    images, captions = np.array([0, 0, 1, 1]), np.array([0, 1, 5, 6])
    i, c = (method.embed(m, split.views[m])[r] for m, r in (("image", images), ("text", captions)))
    s = i @ c.T
    expected = 0.0
    for scores in (s, s.T):
        for row, negatives in enumerate(([2, 3], [2, 3], [0, 1], [0, 1])):
            hinges = [max(0, 0.2 + scores[row, n] - scores[row, row]) for n in negatives]
            expected += sum(hinges) if loss == "sum" else max(hinges)
    assert method.loss((images, captions)).item() == pytest.approx(expected, rel=1e-5)


def released_adam(gradients, rate):
    """Parameter after each step of the ancestor code's Adam, which starts at 0."""
    m = v = p = 0.0
    path = []
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        corrected = rate * (1 - 0.001**t) ** 0.5 / (1 - 0.1**t)
        p -= corrected * m / (v**0.5 + 1e-8)
        path.append(p)
    return path


def test_released_bias_correction_is_the_ancestors(rng):
    method = MultimodalEmbedding(**OPTIONS | {"bias_correction": "released"})
    parameter = nn.Parameter(torch.zeros((), dtype=torch.float64))
    method.network = nn.ParameterList([parameter])
    optimizer, gradients, path = method.optimizer(), rng.standard_normal(200), []
    for step, value in enumerate(gradients):
        optimizer.param_groups[0]["lr"] = method.learning_rate_at(0, step)
        parameter.grad = torch.tensor(value)
        optimizer.step()
        path.append(parameter.item())
    np.testing.assert_allclose(path, released_adam(gradients, 0.005), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("step", "factor"), [(1, 3.5), (10, 6.5), (100, 3.2), (500, 1.6), (3000, 1.03)]
)
def test_released_bias_correction_enlarges_first_steps(step, factor):
    rates = [
        MultimodalEmbedding(**OPTIONS | {"bias_correction": b}).learning_rate_at(0, step - 1)
        for b in ("released", "published")
    ]
    assert rates[1] == 0.005
    assert rates[0] / rates[1] == pytest.approx(factor, rel=0.02)


def test_the_learning_rate_drops_to_a_tenth_once():
    curriculum = {"loss": "sum-max", "finetuning_rate": 0.001}
    method = MultimodalEmbedding(**OPTIONS | curriculum | {"epochs": 5, "drop_epoch": 3})
    rates = [method.learning_rate_at(epoch, step=0) for epoch in range(5)]
    assert rates == pytest.approx([0.005] * 3 + [0.0005] * 2)
    method.phase = 1
    assert method.learning_rate_at(4, step=0) == pytest.approx(0.0001)


def test_a_drop_after_the_last_epoch_is_an_error():
    with pytest.raises(ValueError, match="drop_epoch: is 5, but the last epoch is 4"):
        MultimodalEmbedding(**OPTIONS | {"epochs": 5, "drop_epoch": 5})


@pytest.fixture
def scripted():
    """Scores of the sum, best at epoch 1 of 4, and of the maximum, which is no better."""
    scores = {"sum": [1.0, 9.0, 8.0, 9.0], "max": [0.0, 0.0, 9.0, 8.0]}

    class Asked(MultimodalEmbedding):
        def batches(self, epoch, rng):
            self.asked = [*getattr(self, "asked", []), epoch]
            return super().batches(epoch, rng)

        def validate(self, validation):
            return {"validation": scores[self.losses[self.phase]][self.asked[-1]]}

    return lambda **options: Asked(**OPTIONS | {"epochs": 4} | options)


def test_a_maximum_that_does_not_improve_returns_the_sum_model(captioned, scripted):
    alone, both = scripted(), scripted(loss="sum-max", finetuning_rate=0.001)
    for method in (alone, both):
        method.fit(captioned(0), captioned(1), Run(seed=0))
    assert both.asked == [0, 1, 2, 3, 2, 3]
    for name, value in alone.state().items():
        np.testing.assert_array_equal(both.state()[name], value)


def test_maximum_epochs_count_from_the_best_of_the_sum(captioned, scripted):
    method = scripted(loss="sum-max", finetuning_rate=0.001, finetuning_epochs=2)
    run = Run(seed=0)
    method.fit(captioned(0), captioned(1), run)
    assert method.asked == [0, 1, 2, 3, 0, 1]
    assert [row["phase"] for row in run.curve] == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_epochs_of_a_second_loss_belong_to_one(loss):
    with pytest.raises(ValueError, match=f"finetuning_epochs: is 2 with loss '{loss}'"):
        MultimodalEmbedding(**OPTIONS | {"loss": loss, "finetuning_epochs": 2})


def test_the_maximum_is_learnt_at_its_own_rate(captioned, scripted):
    method, run = scripted(loss="sum-max", finetuning_rate=0.001), Run(seed=0)
    rate, used = method.learning_rate_at, set()
    method.learning_rate_at = lambda *when: used.add((method.phase, rate(*when))) or rate(*when)
    method.fit(captioned(0), captioned(1), run)
    assert used == {(0, 0.005), (1, 0.001)}
    assert [row["phase"] for row in run.curve] == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("pipeline", ["MH", "MOE"])
def test_curve_has_similarities_of_validation_items(captioned, pipeline):
    train, validation, run = captioned(0), captioned(1), Run(seed=0)
    method = MultimodalEmbedding(**OPTIONS | PIPELINES[pipeline] | {"epochs": 1})
    method.fit(train, validation, run)
    embedded = [method.embed(m, validation.views[m]) for m in ("image", "text")]
    scores = method.score(*embedded, ("image", "text"))
    own = np.arange(40)[:, None] == validation.views["text"].items
    (row,) = run.curve
    assert row["positives"] == pytest.approx(scores[own].mean(), rel=1e-5)
    assert row["negatives"] == pytest.approx(scores[~own].mean(), rel=1e-5)
    assert row["validation"] == selection_score(method, validation)


def test_validation_score_needs_no_labels(captioned):
    train, validation, run = captioned(0), captioned(1), Run(seed=0)
    labelled = replace(validation, labels=np.eye(len(validation.items), dtype=bool))
    method = MultimodalEmbedding(**OPTIONS | {"epochs": 1})
    method.fit(train, labelled, run)
    assert run.curve[0]["validation"] == selection_score(method, labelled)


@pytest.mark.parametrize(("loss", "rate"), [("sum", 0.1), ("max", 0.1), ("sum-max", None)])
def test_a_second_rate_belongs_to_a_second_loss(loss, rate):
    options = OPTIONS | {"loss": loss, "finetuning_rate": rate}
    with pytest.raises(CrossmodalError, match=r"m\.ph: finetuning_rate"):
        plugins.make("methods", "multimodal_embedding", options, "m.ph")


def pipelines(table):
    """Label -> experiment of a table's caption pipelines, without the systems that it cites."""
    shown = {PARAMS.experiments[e].label: e for e in PARAMS.tables[table].experiments}
    return {label: e for label, e in shown.items() if label[:3] in ("FC7", "FNE")}


def test_pipelines_and_embeddings_are_compared_on_all_datasets():
    labels = {f"{f}-{m}" for f in ("FC7", "FNE") for m in PIPELINES}
    labels |= {f"{label}-bl" for label in labels if not label.endswith(("PH", "POE"))}
    for table in (2, 3, 4):
        shown = [PARAMS.experiments[e] for e in pipelines(f"fne_table{table}").values()]
        assert {e.label for e in shown} == labels | {f"{label}, as released" for label in labels}
        assert {e.published.method for e in shown} == labels
        assert all(e.label[:3].lower() in e.views["image"] for e in shown)


def test_a_restored_method_embeds_as_the_fitted_one(captioned):
    fitted, restored = (MultimodalEmbedding(**OPTIONS) for _ in range(2))
    fitted.fit(captioned(0), captioned(1), Run(seed=0))
    test = captioned(2)
    restored.restore(fitted.state(), test.views)
    for modality, view in test.views.items():
        np.testing.assert_array_equal(restored.embed(modality, view), fitted.embed(modality, view))


RELEASED = {"hardest": "anchor", "image_bias": True, "bias_correction": "released"}


@pytest.mark.parametrize("table", ["fne_table2", "fne_table3", "fne_table4", "flickr8k_table5"])
def test_released_rows_differ_in_three_options_alone(table):
    found = pipelines(table)
    released = [label for label in found if label.endswith(", as released")]
    assert 2 * len(released) == len(found)
    for label in released:
        published = PARAMS.fit(found[label.removesuffix(", as released")])
        published.options.update(RELEASED)
        assert PARAMS.fit(found[label]) == published


SYSTEMS = {
    "flickr8k_uvs": {"loss": "sum", "similarity": "cosine"},
    "flickr30k_vse": {"loss": "max", "similarity": "cosine", "drop_epoch": 15, "epochs": 30},
    "coco_order": {"loss": "sum", "similarity": "order", "absolute": True, "margin": 0.05},
}


@pytest.mark.parametrize("experiment", SYSTEMS)
def test_cited_systems_have_their_loss_and_a_published_row(experiment):
    said = PARAMS.fit(experiment).options
    assert said | SYSTEMS[experiment] == said
    assert (said["dims"], said["word_dims"], said["batch"]) == (1024, 300, 128)
    assert published_numbers(PARAMS.experiments[experiment].published)
