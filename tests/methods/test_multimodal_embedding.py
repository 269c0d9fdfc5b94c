import numpy as np
import pytest
import torch

from crossmodal.evaluation.selection import selection_score
from crossmodal.losses import ranking_loss
from crossmodal.methods.base import Run
from crossmodal.methods.multimodal_embedding import MultimodalEmbedding
from crossmodal.store import Ragged

pytestmark = pytest.mark.usefixtures("cpu")

WIDTH, WORDS, EOS = 20, 30, 2
OPTIONS = {
    "dims": 32,
    "word_dims": 24,
    "margin": 0.2,
    "learning_rate": 0.005,
    "clip": 2.0,
    "batch": 16,
    "epochs": 2,
}


@pytest.fixture
def captioned(make_split):
    """Make splits of random images with random captions of 3 to 9 words and the end token."""

    def make(seed, count=40, captions=5):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(3, 10, count * captions)
        words = [np.append(rng.integers(4, WORDS, length), EOS) for length in lengths]
        images = rng.standard_normal((count, WIDTH)).astype(np.float32)
        views = {"image": images, "text": Ragged.concatenate(words)}
        return make_split(views, vocabulary=[str(word) for word in range(WORDS)])

    return make


def placed(split, **options):
    """A method with an untrained network, ready for its first batch."""
    method = MultimodalEmbedding(**OPTIONS | options)
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def looped_gru(words, weights):
    """Last state of one caption by the equations of the paper, gate by gate."""
    w_r, w_u, w_g = np.split(weights["gru.weight_ih_l0"], 3)
    u_r, u_u, u_g = np.split(weights["gru.weight_hh_l0"], 3)
    b_r, b_u, b_g = np.split(weights["gru.bias_ih_l0"], 3)
    h = np.zeros(len(u_r))
    for word in words:
        e = weights["words.weight"][word]
        r = sigmoid(u_r @ h + w_r @ e + b_r)
        u = sigmoid(u_u @ h + w_u @ e + b_u)
        g = np.tanh(r * (u_g @ h) + w_g @ e + b_g)
        h = u * h + (1 - u) * g
    return h


def test_loss_of_the_hand_computed_example():
    scores = torch.tensor([[0.6, 0.5, 0.45], [0.5, 0.3, 0.4], [0.35, 0.25, 0.5]])
    assert ranking_loss(scores, 0.2).item() == pytest.approx(1.80)


def test_constant_similarity_costs_the_margin_for_every_negative():
    assert ranking_loss(torch.full((128, 128), 0.3), 0.2).item() == pytest.approx(6502.4)


def test_pairs_separated_by_more_than_the_margin_have_no_loss_and_no_gradient():
    scores = torch.eye(6, requires_grad=True)
    loss = ranking_loss(scores, 0.9)
    loss.backward()
    assert loss.item() == 0
    assert (scores.grad == 0).all()


def test_loss_equals_the_double_loop(rng):
    scores = rng.uniform(-1, 1, (9, 9))
    expected = 0.0
    for i in range(9):
        for j in set(range(9)) - {i}:
            expected += max(0.0, 0.2 + scores[i, j] - scores[i, i])  # wrong caption
            expected += max(0.0, 0.2 + scores[j, i] - scores[i, i])  # wrong image
    assert ranking_loss(torch.from_numpy(scores), 0.2).item() == pytest.approx(expected)


def test_loss_ignores_the_order_of_the_pairs_and_of_the_modalities(rng):
    scores = torch.from_numpy(rng.uniform(-1, 1, (9, 9)))
    order = rng.permutation(9)
    expected = pytest.approx(ranking_loss(scores, 0.2).item())
    assert ranking_loss(scores[order][:, order], 0.2).item() == expected
    assert ranking_loss(scores.T, 0.2).item() == expected


def test_gradient_of_the_loss_is_that_of_finite_differences(rng):
    scores = torch.from_numpy(rng.uniform(-1, 1, (6, 6))).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: ranking_loss(s, 0.2), scores)


def test_captions_are_embedded_word_by_word_to_the_last(captioned):
    split = captioned(0)
    method = placed(split)
    torch.nn.init.uniform_(method.network["text"].gru.bias_ih_l0)
    method.network.double()
    weights = {k: v.numpy() for k, v in method.network["text"].state_dict().items()}
    captions = split.views["text"].features
    states = np.stack([looped_gru(captions[row], weights) for row in range(len(captions))])
    expected = states / np.linalg.norm(states, axis=1, keepdims=True)
    np.testing.assert_allclose(method.embed("text", split.views["text"]), expected, atol=1e-7)


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


def test_lengths_of_image_features_change_neither_outputs_nor_gradients(captioned, rng):
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


@pytest.mark.parametrize("word_dims", [24, 32])
def test_network_starts_as_the_released_code_does(captioned, word_dims):
    network = placed(captioned(0), word_dims=word_dims).network
    bound = np.sqrt(6 / (WIDTH + 32))
    assert 0.95 * bound < network["image"].weight.abs().max() <= bound
    assert network["image"].bias is None
    encoder = network["text"]
    assert 0.095 < encoder.words.weight.abs().max() <= 0.1
    for gate in encoder.gru.weight_hh_l0.detach().chunk(3):
        torch.testing.assert_close(gate @ gate.T, torch.eye(32), atol=1e-5, rtol=0)
    for gate in encoder.gru.weight_ih_l0.detach().chunk(3):
        if word_dims == 32:
            torch.testing.assert_close(gate @ gate.T, torch.eye(32), atol=1e-5, rtol=0)
        else:
            assert 0.095 < gate.abs().max() <= 0.1
    assert (encoder.gru.bias_ih_l0 == 0).all()


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


def test_an_epoch_takes_each_image_at_most_once_with_one_of_its_captions(captioned, rng):
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


def test_sixty_four_pairs_are_learnt_by_heart(captioned):
    split = captioned(0, count=64, captions=1)
    method = MultimodalEmbedding(**OPTIONS | {"epochs": 60})
    method.fit(split, split, Run(seed=0))
    assert selection_score(method, split) == 600  # six recalls of 100


def test_weights_are_those_of_the_best_validation_epoch(captioned):
    split, run = captioned(0), Run(seed=0)
    method = MultimodalEmbedding(**OPTIONS | {"epochs": 15})
    method.learning_rate = lambda epoch, step: 0.005 if epoch < 12 else 10.0  # undoes it all
    method.fit(split, split, run)
    scores = [row["validation"] for row in run.curve]
    assert max(scores) > scores[-1]
    assert selection_score(method, split) == max(scores)


def test_a_restored_method_embeds_as_the_fitted_one(captioned):
    fitted, restored = (MultimodalEmbedding(**OPTIONS) for _ in range(2))
    fitted.fit(captioned(0), captioned(1), Run(seed=0))
    test = captioned(2)
    restored.restore(fitted.state(), test.views)
    for modality, view in test.views.items():
        np.testing.assert_array_equal(restored.embed(modality, view), fitted.embed(modality, view))
