"""Peak memory of COCO's FNE at its size: extraction, standardisation and training.

As many synthetic pictures as COCO has (82,783 for training, 2,000 others), with five captions each,
go through the workflow's own steps, each in a process of its own: VGG16's activations of ten crops,
12,416 columns; the codes of FNE; the words of the captions; and an epoch of an experiment with its
own options. Two things are not as there. Pictures and crops are tiny, and the convolutions are
replaced by a projection of the crop's pixels to the same columns: files, rows and chunks have their
real size, but a crop takes no time. What the network itself holds is measured with a few pictures
of full size, one for each thread (`network`). And the epoch ends after some batches, though it has
all rows at hand; it is validated as always.

Each line has measured seconds and memory, and the memory that is expected before a run.
Run: python benchmarks/coco.py [--share 1.0] [--steps 10] [--folder /tmp]
"""

import argparse
import io
import json
import math
import resource
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch
from PIL import Image
from torch import nn

from crossmodal.config import params
from crossmodal.config.fit import non_defaults
from crossmodal.data.writer import Writer
from crossmodal.features.activations import Activations
from crossmodal.images.crops import Preparation
from crossmodal.methods.multimodal_embedding import MultimodalEmbedding
from crossmodal.pretrained.backbones import NETWORKS
from crossmodal.repeatability import use_one_thread
from crossmodal.steps.extract import extract
from crossmodal.steps.train import train
from crossmodal.workflow.job_costs import Costs
from crossmodal.workflow.specs import ExtractSpec, TrainSpec

EXPERIMENT, DATASET = "coco_fne_sh", "coco"
READ_OUT = Activations._read_out
TINY = Preparation(side=20, crop=16)
VOCABULARY, WORDS, CAPTIONS, NETWORK_PICTURES = 24_000, 10, 5, 8


class Projection(nn.Module):
    """Of crops (n, 3, 16, 16) to rectified columns (n, width), in place of a network."""

    def __init__(self, width):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weights = torch.randn(3 * 4 * 4, width, generator=generator)

    def forward(self, crops):
        """Products with the means of 4 x 4 cells."""
        cells = nn.functional.adaptive_avg_pool2d(crops, 4).flatten(1)
        return (cells @ self.weights).relu_()


def projected(feature, network):
    """In place of `Activations._read_out`: weights are loaded and layers found as always."""
    READ_OUT(feature, network)
    return Projection(feature.layers[-1].stop).to(feature.device)


def jpeg(rng, side):
    stream = io.BytesIO()
    Image.fromarray(rng.integers(256, size=(side, side, 3), dtype=np.uint8)).save(stream, "JPEG")
    return stream.getvalue()


def make_dataset(folder, sizes, side):
    """The prepared dataset: pictures of noise, captions of random words."""
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(1, VOCABULARY + 1)  # Zipf's law
    chances /= chances.sum()
    with Writer(folder) as out:
        for split, count in sizes.items():
            words = rng.choice(VOCABULARY, (count, CAPTIONS, WORDS), p=chances)
            for index in range(count):
                item = f"{split}{index}"
                out.item(item, split, image=jpeg(rng, side), suffix=".jpg")
                for number, caption in enumerate(words[index]):
                    out.caption(f"{item}#{number}", item, " ".join(f"w{word}" for word in caption))


def extract_feature(spec, folder, name, tiny):
    if tiny:
        NETWORKS["vgg16"] = replace(NETWORKS["vgg16"], preparation=TINY)
        Activations._read_out = projected
    threads = 8 if spec.plugin == "activations" else 1
    extract(spec, folder / f"{name}.h5", folder, folder, folder, threads)


def fit(spec, folder, steps):
    batches = MultimodalEmbedding.batches
    MultimodalEmbedding.batches = lambda *given: islice(batches(*given), steps)
    train(spec, folder / "run/model.safetensors", folder, folder, folder, 0)


def measured(function, *given):
    """Seconds and peak bytes of a call in this process."""
    use_one_thread()
    start = perf_counter()
    function(*given)
    return perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(stage, cost, function, *given):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        seconds, memory = pool.submit(measured, function, *given).result()
    found = {"stage": stage, "seconds": round(seconds), "GB": round(memory / 1e9, 2)}
    if cost:
        found["expected GB"] = round(cost.memory_mb / 1e3, 2)
    print(json.dumps(found), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of COCO's pictures")
    parser.add_argument("--steps", type=int, default=10, help="batches of the epoch")
    parser.add_argument("--folder", type=Path, help="needs 12 GB of disk")
    arguments = parser.parse_args()
    project, costs = params.read(Path("params.yaml")), Costs()
    sizes = project.dataset_of(DATASET).counts()
    sizes = {split: math.ceil(arguments.share * count) for split, count in sizes.items()}
    job = project.fit(EXPERIMENT)
    codes, words = (job.views[m] for m in ("image", "text"))
    (layers,) = project.feature_of(codes).of
    with TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        report("pictures", None, make_dataset, folder, sizes, 24)

        def extracted(feature, stage=None, folder=folder, tiny=True):
            plugin = project.plugin("features", feature)
            options = plugin["options"] | ({"weights": "random"} if feature == layers else {})
            spec = ExtractSpec(plugin=plugin["plugin"], options=options, code="benchmark")
            cost = costs.of("extract", f"{DATASET}/{feature}")
            report(stage or feature, cost, extract_feature, spec, folder, feature, tiny)

        for feature in (layers, codes, words):
            extracted(feature)
        print(json.dumps({"disk GB": round(size_of(folder) / 1e9, 2)}), flush=True)
        (folder / f"{layers}.h5").unlink()
        options = job.options | {"epochs": 1}
        spec = TrainSpec(**(non_defaults(job) | {"options": options}), code="benchmark")
        report(EXPERIMENT, costs.of("train", EXPERIMENT), fit, spec, folder, arguments.steps)
        shutil.rmtree(folder)
        make_dataset(folder, {"train": NETWORK_PICTURES}, 256)
        extracted(layers, "network", tiny=False)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
