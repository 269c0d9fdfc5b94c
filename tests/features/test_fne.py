import tracemalloc
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.feature_file import FeatureFile, write_features
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.fne import FNE
from crossmodal.pretrained.backbones import untrained
from crossmodal.pretrained.read_out import ReadOut
from crossmodal.steps.extract import extract
from crossmodal.workflow.specs import ExtractSpec


@pytest.fixture
def code(tmp_path):
    """Codes of raw features (n, d) whose first rows are the training images."""

    def run(values, train, positive=0.15, negative=-0.25, clip=None):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        with Writer(folder) as out:
            for index in range(len(values)):
                out.item(f"{index}", "train" if index < train else "test")
        dataset = Prepared(folder)
        ids = [item.id for item in dataset.items]
        source = {"layers": FeatureFile(ids, ids, np.asarray(values, np.float32), {})}
        thresholds = None if clip else {"positive": positive, "negative": negative}
        feature = FNE(activations="layers", thresholds=thresholds, clip=clip)
        feature.fit(dataset, source)
        return feature.extract(dataset, dataset.items, source)

    return run


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """Write raw features (n, d) whose first rows are for training, and their dataset."""
    monkeypatch.chdir(tmp_path)

    def run(values, train, layers=()):
        with Writer(Path("data")) as out:
            for index in range(len(values)):
                out.item(f"{index}", "train" if index < train else "test")
        ids = [item.id for item in Prepared(Path("data")).items]
        write_features(Path("layers.h5"), ids, ids, [values], {"layers": layers})

    return run


def extracted():
    """Feature file of the codes of what is prepared."""
    thresholds = {"positive": 0.15, "negative": -0.25}
    options = {"activations": "layers", "thresholds": thresholds, "clip": None}
    spec = ExtractSpec(plugin="fne", options=options)
    extract(spec, Path("codes.h5"), Path("data"), Path(), Path())
    return Path("codes.h5")


def reference(values, train, positive=0.15, negative=-0.25):
    values = np.asarray(values, np.float32).astype(np.float64)
    codes = np.zeros(values.shape, int)
    for unit in range(values.shape[1]):
        mean, deviation = np.mean(values[:train, unit]), np.std(values[:train, unit])
        for image in range(len(values)):
            z = (values[image, unit] - mean) / deviation if deviation else 0.0
            codes[image, unit] = 1 if z > positive else -1 if z < negative else 0
    return codes


@pytest.mark.parametrize("images", [5, 256, 700])
def test_codes_agree_with_a_plain_loop(code, images):
    rng = np.random.default_rng(images)
    values = np.maximum(rng.standard_normal((images, 13)), 0) * rng.random(13)
    values[:, 4] = 0.1
    found = code(values, train=images * 3 // 4)
    assert found.dtype == np.int8
    assert np.array_equal(found, reference(values, images * 3 // 4))


@pytest.mark.parametrize("chunk", [1, 64, 100])
@pytest.mark.parametrize(("mean", "deviation"), [(0, 1), (1e3, 1e-2)])
def test_statistics_chunk_invariant(code, monkeypatch, chunk, mean, deviation):
    monkeypatch.setattr(FNE, "chunk", chunk)
    values = np.random.default_rng(0).normal(mean, deviation, (100, 7)).astype(np.float32)
    values[:, 3] = mean
    exact = values.astype(np.float64)
    scale = np.where(np.arange(7) == 3, np.inf, exact.std(axis=0))
    expected = (exact - exact.mean(axis=0)) / scale
    np.testing.assert_allclose(code(values, 100, clip=9.0), expected, rtol=1e-6, atol=1e-6)


def test_memory_does_not_grow_with_the_images(prepared):
    peaks = []
    for images in (1_000, 4_000):
        prepared(np.ones((images, 2_000), np.float32), train=images)  # 8 and 32 MB
        tracemalloc.start()
        try:
            extracted()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_unit_constant_in_training_is_zero_everywhere(code):
    values = np.full((600, 3), 0.1)  # no finite binary fraction
    values[500:] = [[0.0, 0.1, 5.0]]
    assert not code(values, train=500).any()


def test_z_scores_on_a_threshold_are_ordinary(code):
    # the training rows have mean 0 and standard deviation 1, so that the others are z-scores
    edges = np.array([0.25, -0.5], np.float32)
    above = np.nextafter(edges, np.float32(9), dtype=np.float32)
    below = np.nextafter(edges, np.float32(-9), dtype=np.float32)
    values = np.concatenate([[1, -1], edges, above, below])[:, None]
    found = code(values, train=2, positive=0.25, negative=-0.5)[2:, 0]
    assert found.tolist() == [0, 0, 1, 0, 0, -1]


def test_codes_of_normal_units_have_the_normal_shares(code):
    values = np.random.default_rng(0).standard_normal((2_000, 100))
    found = code(values, train=2_000)
    for value, share in ((-1, 0.4013), (0, 0.1583), (1, 0.4404)):
        error = np.sqrt(share * (1 - share) / found.size)
        assert abs((found == value).mean() - share) < 3 * error


def test_units_may_change_scale_and_offset_but_not_sign(code):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 64, (300, 8))
    codes = code(values, train=200)
    assert np.array_equal(codes, code(values * 4 + 16, train=200))
    assert not np.array_equal(-codes, code(-values, train=200))


def test_training_codes_do_not_know_other_splits(code):
    values = np.random.default_rng(0).random((300, 8))
    codes = code(values, train=200)
    values[200:] *= 100
    assert np.array_equal(codes[:200], code(values, train=200)[:200])


def test_codes_away_from_thresholds_ignore_rounding(code):
    rng = np.random.default_rng(0)
    values = rng.random((200, 50))
    rounded = values + rng.uniform(-1e-6, 1e-6, values.shape)
    z = (values - values[:150].mean(0)) / values[:150].std(0)
    away = (np.abs(z - 0.15) > 1e-4) & (np.abs(z + 0.25) > 1e-4)
    assert np.array_equal(code(values, 150)[away], code(rounded, 150)[away])


def test_linear_map_of_codes_is_sum_and_difference_of_rows(code):
    rng = np.random.default_rng(0)
    codes, weights = code(rng.random((40, 30)), train=30), rng.standard_normal((30, 4))
    for row in codes:
        expected = weights[row == 1].sum(axis=0) - weights[row == -1].sum(axis=0)
        np.testing.assert_allclose(row @ weights, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("backbone", "units", "names"),
    [
        ("vgg16", 12_416, ["features.28", "classifier.0", "classifier.3"]),
        ("vgg19", 13_696, ["features.34", "classifier.0", "classifier.3"]),
        ("resnet50", 22_720, ["layer4.2.conv1", "layer4.2.conv2", "layer4.2.conv3"]),
        ("squeezenet1_1", 2_944, ["squeeze", "expand1x1", "expand3x3"]),
    ],
)
def test_every_network_has_codes_of_all_its_layers_by_name(prepared, backbone, units, names):
    layers = [astuple(layer) for layer in ReadOut(untrained(backbone), "post").layers]
    values = np.random.default_rng(0).random((30, units), np.float32)
    prepared(values, train=20, layers=layers)
    found = read_features(extracted())
    assert found.features.shape == (30, units)
    assert found.features.dtype == np.int8
    stated = found.meta["layers"]
    assert [start for _, start, _ in stated] == [0, *(stop for *_, stop in stated[:-1])]
    assert stated[-1][2] == units
    assert all(name.endswith(end) for (name, *_), end in zip(stated[-3:], names, strict=True))


def test_file_agrees_with_numpy_and_holds_statistics(prepared):
    values = np.maximum(np.random.default_rng(0).standard_normal((600, 40)), 0).astype(np.float32)
    prepared(values, train=400)
    found = read_features(extracted())
    wide = values.astype(np.float64)
    mean, deviation = wide[:400].mean(0), wide[:400].std(0)
    z = (wide - mean) / deviation
    np.testing.assert_array_equal(found.features, np.where(z > 0.15, 1, np.where(z < -0.25, -1, 0)))
    np.testing.assert_allclose(found.meta["mean"], mean, rtol=1e-12)
    np.testing.assert_allclose(found.meta["deviation"], deviation, rtol=1e-12)
    assert found.meta["extractor"]["options"]["thresholds"]["positive"] == 0.15


def test_no_training_image_is_an_error(code):
    with pytest.raises(CrossmodalError, match="needs training items"):
        code(np.ones((3, 2)), train=0)


def test_rows_without_thresholds_are_training_z_scores(code, rng):
    values = rng.normal(3, 2, (40, 5))
    values[:, 4] = 7  # a unit that never varies
    found = code(values, train=30, clip=100.0)
    mean, deviation = values[:30].mean(axis=0), values[:30].std(axis=0)
    expected = (values[:, :4] - mean[:4]) / deviation[:4]
    np.testing.assert_allclose(found[:, :4], expected, rtol=1e-4, atol=1e-5)
    assert (found[:, 4] == 0).all()
    assert found.dtype == np.float32


def test_z_scores_are_clipped(code):
    values = np.array([[0.0], [1.0], [2.0], [100.0], [-100.0]])
    assert code(values, train=3, clip=5.0)[3:, 0].tolist() == [5.0, -5.0]


@pytest.mark.parametrize(
    ("thresholds", "clip"), [(None, None), ({"positive": 0.15, "negative": -0.25}, 5.0)]
)
def test_either_thresholds_or_a_clip_are_given(thresholds, clip):
    options = {"activations": "layers", "thresholds": thresholds, "clip": clip}
    with pytest.raises(CrossmodalError, match=r"params\.yaml: features\.x: .*clip"):
        plugins.make("features", "fne", options, "features.x")
