import numpy as np
import pytest

from crossmodal.data.feature_file import Ragged
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.spectrogram_cnn import SpectrogramCNN
from crossmodal.training.pairs import Batch
from tests.methods.maps import BINS, VOCABULARY, clip_of_words, spoken_maps

pytestmark = pytest.mark.usefixtures("cpu")

FORWARD, BACKWARD = ("image", "speech"), ("speech", "image")
VIEWS = ("image", "speech")
OPTIONS = {"dims": 12, "filters": 5, "units": 10, "word_frames": 6, "dropout": 0.1}
OPTIONS |= {"batch": 10, "word_batch": 8, "epochs": 2, "word_epochs": 2}


@pytest.fixture
def spoken(make_split, rng):
    return lambda count=20: spoken_maps(make_split, rng, count)


def embedded(method, split):
    return [method.embed(modality, split.views[modality]) for modality in VIEWS]


def test_scores_equal_loops(spoken, placed):
    """Each word finds its best region, the whole image among them."""
    split = spoken()
    method = placed(SpectrogramCNN(**OPTIONS), split)
    images, clips = embedded(method, split)
    assert images.shape == (20, 7, 12)
    assert clips.shape == (40, 2, 12)
    assert (clips >= 0).all()
    scores = method.score(images, clips, FORWARD)
    expected = np.zeros((20, 40))
    for i, regions in enumerate(images):
        for j, words in enumerate(clips):
            expected[i, j] = sum(max(region @ word for region in regions) for word in words)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(method.score(clips, images, BACKWARD), scores.T, atol=1e-6)


def test_the_whole_image_is_the_mean_of_its_regions(spoken, placed):
    split = spoken()
    method = placed(SpectrogramCNN(**OPTIONS | {"scaling": "raw"}), split)
    images = method.embed("image", split.views["image"])
    np.testing.assert_allclose(images[:, -1], images[:, :-1].mean(1), atol=1e-5)


def test_a_clip_does_not_depend_on_longer_ones(spoken, placed, rng):
    split = spoken()
    method = placed(SpectrogramCNN(**OPTIONS), split)
    speech = split.views["speech"]
    long = clip_of_words(rng, rng.uniform(-80, 0, (VOCABULARY + 1, BINS)), [1, 2, 3, 4, 5])
    more = Ragged.concatenate([*(speech.features[row] for row in range(39)), long])
    alone = method.embed("speech", speech)
    object.__setattr__(speech, "features", more)
    together = method.embed("speech", speech)
    assert together.shape == (40, 5, 12)
    np.testing.assert_allclose(together[:39, :2], alone[:39], atol=1e-6)
    assert np.isnan(together[:39, 2:]).all()
    images = method.embed("image", split.views["image"])
    scores = method.score(images, together, FORWARD)[:, :39]
    np.testing.assert_allclose(scores, method.score(images, alone, FORWARD)[:, :39], atol=1e-5)


def test_loss_of_pairs_equals_loops(spoken, placed):
    """Of a batch in which two clips are of one image."""
    split = spoken()
    method = placed(SpectrogramCNN(**OPTIONS), split)
    method.phase = 1
    method.optimizer()
    method.batches(0, np.random.default_rng(0))
    rows = np.array([0, 5, 4, 39])
    images, clips = embedded(method, split)
    s = method.score(images[rows // 2], clips[rows], FORWARD)
    others = [[1, 2, 3], [0, 3], [0, 3], [0, 1, 2]]
    expected = sum(
        max(0, 1 - s[i, i] + s[i, j]) + max(0, 1 - s[i, i] + s[j, i])
        for i, found in enumerate(others)
        for j in found
    )
    assert method.loss(Batch(rows // 2, rows)).item() == pytest.approx(expected, rel=1e-4)


def test_first_words_learn_then_the_maps_alone(spoken, placed):
    method = placed(SpectrogramCNN(**OPTIONS), spoken())
    names = {id(p): name for name, p in method.network.named_parameters()}

    def learning():
        method.optimizer()
        return {names[id(p)].partition(".")[0] for p in method.trainable()}

    assert learning() == {"cnn"}
    method.phase = 1
    assert learning() == {"image", "speech"}


def test_words_out_of_the_vocabulary_are_not_classified(spoken, placed):
    method = placed(SpectrogramCNN(**OPTIONS), spoken())
    rows = np.concatenate([*method.batches(0, np.random.default_rng(0))])
    known = np.flatnonzero(method.words.numbers)
    assert sorted(rows.tolist()) == known.tolist()
    assert len(known) < len(method.words.numbers)


def test_validation_of_words_is_minus_their_errors(spoken, placed):
    split = spoken()
    method = placed(SpectrogramCNN(**OPTIONS), split)
    words = method.words
    guesses = []
    method.network.eval()
    for word in range(len(words.numbers)):
        vector = method.network.cnn(words.pad(np.array([word]), 6))
        guesses.append(method.network.cnn.classify(vector).argmax().item())
    known = words.numbers > 0
    wrong = np.mean((np.array(guesses) != words.numbers)[known])
    assert method.validate(split)["validation"] == pytest.approx(-wrong)
    method.phase = 1
    assert method.validate(split)["validation"] == selection_score(method, split)


def test_fit_of_20_clips_by_heart(spoken, without_rows):
    split = spoken(count=10)
    speed = {"dims": 32, "units": 32, "dropout": 0.0, "batch": 20}
    speed |= {"word_rate": 0.01, "word_epochs": 30, "learning_rate": 0.01, "epochs": 150}
    method = SpectrogramCNN(**OPTIONS | speed | {"decay_every": 150})
    run = Run(seed=0)
    method.fit(split, split, run)
    words = [row["validation"] for row in run.curve if row["phase"] == 0]
    assert max(words) == 0  # each word is told from the others
    assert selection_score(method, split) == 600
    restored = SpectrogramCNN(**OPTIONS | speed)
    restored.restore(method.state(), without_rows(split.views))
    found, expected = (m.score(*embedded(m, split), FORWARD) for m in (restored, method))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("stop", [1, 3])
def test_a_stopped_fit_resumes_exactly(spoken, tmp_path, monkeypatch, stop):
    """In the phase of words, and in that of pairs."""
    split = spoken()
    whole = SpectrogramCNN(**OPTIONS)
    whole.fit(split, split, Run(seed=0))
    stopped, epochs = SpectrogramCNN(**OPTIONS), iter(range(stop))
    draw = stopped.batches

    def batches(epoch, rng):
        next(epochs)
        return draw(epoch, rng)

    monkeypatch.setattr("crossmodal.io.snapshots.SHARE", 1e9)  # each epoch is saved
    stopped.batches = batches
    with pytest.raises(StopIteration):
        stopped.fit(split, split, Run(seed=0, checkpoints=tmp_path))
    resumed = SpectrogramCNN(**OPTIONS)
    resumed.fit(split, split, Run(seed=0, checkpoints=tmp_path))
    for name, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value)


def test_clips_that_are_not_cut_are_refused(spoken, make_split, rng):
    split = spoken()
    clips = Ragged.concatenate(rng.uniform(-80, 0, (9, 40)) for _ in range(40))
    views = {"image": split.views["image"].features, "speech": clips}
    with pytest.raises(CrossmodalError, match="choose the feature `spoken_words`"):
        SpectrogramCNN(**OPTIONS).fit(make_split(views), split, Run(seed=0))
