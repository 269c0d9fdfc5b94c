"""Extraction from JPEG files, beside the loops of timm and open_clip with the same networks.

timm's loop is its loader, transform and model, as in its `validate.py`; open_clip's is its
transform and `encode_image` in a DataLoader. Ours reads the same files from a prepared dataset.
Weights are random and the same on both sides; vectors are compared first. The peers get our batch
sizes, and timm's network the layout that is faster, channels last. One thread; both take turns.
Run: PYTHONPATH=. python benchmarks/image_encoders.py
"""

import json
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from benchmarks.extraction import HEIGHT, WIDTH, jpeg
from benchmarks.ratio import EXTRA, Row, in_turns, named, not_measured, show
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.features._backbone import CROPS_AT_ONCE
from crossmodal.features._clip import BATCH
from crossmodal.features.activations import Activations
from crossmodal.features.clip_image import ClipImage
from crossmodal.io.bundles import write_bundle
from crossmodal.pretrained.dual_encoder import CONFIG
from crossmodal.vectors import unit_rows

IMAGES, ROUNDS, ALIKE = 60, 3, 0.99
LITE, VIT = "efficientnet_lite0", "ViT-B-32"
SIZE = f"{IMAGES} files of {WIDTH} x {HEIGHT} pixels"


def write_images(folder):
    """The same files as a prepared dataset, and as a folder of one class."""
    rng = np.random.default_rng(0)
    (folder / "files/one").mkdir(parents=True)
    with Writer(folder / "prepared") as out:
        for index in range(IMAGES):
            content = jpeg(rng)
            out.item(f"{index}", "train", image=content, suffix=".jpg")
            (folder / f"files/one/{index:03}.jpg").write_bytes(content)
    return Prepared(folder / "prepared")


def ours(feature, prepared):
    """Vectors of all images, on one thread."""
    feature.threads = 1
    return feature.extract(prepared, prepared.items, {})


@torch.inference_mode()
def by_timm(model, files):
    """Vectors by timm's loader and model."""
    from timm.data import create_dataset, create_loader, resolve_data_config

    config = resolve_data_config({}, model=model)
    names = "input_size", "interpolation", "mean", "std", "crop_pct"
    loader = create_loader(
        create_dataset("", root=str(files)),
        batch_size=CROPS_AT_ONCE["cpu"],
        use_prefetcher=False,
        num_workers=0,
        **{name: config[name] for name in names},
    )
    batches = (x.contiguous(memory_format=torch.channels_last) for x, _ in loader)
    return torch.cat([model(x) for x in batches]).numpy()


@torch.inference_mode()
def by_open_clip(model, transform, files):
    """Vectors by open_clip's transform and model."""
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    loader = DataLoader(ImageFolder(str(files), transform), batch_size=BATCH)
    return torch.cat([model.encode_image(x, normalize=True) for x, _ in loader]).numpy()


def measured(what, peer, note, *works):
    """Compare the vectors of both, then their times."""
    first, second = (unit_rows(work()) for work in works)
    cosines = (first * second).sum(1)
    assert cosines.min() > ALIKE, cosines.min()
    return Row(what, SIZE, named(peer), *in_turns(*works, rounds=ROUNDS), note)


def lite(folder, prepared):
    from timm import create_model

    feature = Activations(
        backbone=f"timm/{LITE}", weights="random", crops=1, layers="last", resize="short"
    )
    feature.setup(None)
    with torch.random.fork_rng():
        torch.manual_seed(0)  # as ours draws them
        model = create_model(LITE, num_classes=0).eval().to(memory_format=torch.channels_last)
    return measured(
        f"Extraction, {LITE}",
        "timm",
        "",
        lambda: ours(feature, prepared),
        lambda: by_timm(model, folder / "files"),
    )


def vit(folder, prepared):
    import open_clip

    model, _, transform = open_clip.create_model_and_transforms(VIT)
    model.eval()
    path = folder / "clip.safetensors"
    config = {"model_cfg": open_clip.get_model_config(VIT), "preprocess_cfg": {}}
    write_bundle(path, model.state_dict(), {CONFIG: json.dumps(config)}, {})
    feature = ClipImage(weights=path.name)
    feature.setup(path)
    return measured(
        f"Extraction, CLIP {VIT}",
        "open-clip-torch",
        "ours calls open_clip's transform and model, nearly all of the time",
        lambda: ours(feature, prepared),
        lambda: by_open_clip(model, transform, folder / "files"),
    )


def ratios():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared = write_images(folder)
        yield lite(folder, prepared)
        if find_spec("open_clip"):
            yield vit(folder, prepared)
        else:
            yield not_measured(f"Extraction, CLIP {VIT}", SIZE, "open-clip-torch", EXTRA)


if __name__ == "__main__":
    show(ratios())
