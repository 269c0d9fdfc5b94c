from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.prepared import Prepared
from crossmodal.steps.embed import embed
from crossmodal.steps.evaluate import evaluate
from crossmodal.steps.train import train
from crossmodal.store import write_features
from crossmodal.writer import Writer

SIZES = {"train": 40, "validation": 20, "test": 24}
CATEGORIES = 3
CAPTIONS = 2
CCA = {
    "plugin": "cca",
    "options": {"dims": 4, "ridge": 0.0, "power": 1.0},
    "search": {"dims": [5, 3]},
}
RIDGE = {"plugin": "ridge", "options": {"penalty": 0.01}, "search": {}}
VIEWS = {"image": "pixels", "text": "words"}


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path, monkeypatch):
    """Steps keep unfinished work under the working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def planted(tmp_path):
    """Write a dataset whose image and text features share five noisy latent numbers.

    Its splits and categories are mixed; each item has one row of image features and one row of
    text features for each of its two captions.
    """

    def plant(labelled=True):
        rng = np.random.default_rng(7)
        splits = rng.permutation(np.repeat(list(SIZES), list(SIZES.values())))
        categories = rng.integers(0, CATEGORIES, len(splits))
        folder, features = tmp_path / "data/prepared/toy", tmp_path / "features/toy"
        with Writer(folder) as out:
            for item, (split, category) in enumerate(zip(splits, categories, strict=True)):
                out.item(f"item{item}", str(split), f"category{category}" if labelled else "")
                for caption in range(CAPTIONS):
                    out.caption(f"item{item}#{caption}", f"item{item}", "words")
        latent = np.eye(CATEGORIES, 5)[categories] + 0.7 * rng.standard_normal((len(splits), 5))
        image = _observe(rng, latent, width=8)
        text = _observe(rng, latent.repeat(CAPTIONS, axis=0), width=7)
        dataset = Prepared(folder)
        items = [item.id for item in dataset.items]
        write_features(features / "pixels.h5", items, items, [image], {})
        captions = [caption.id for caption in dataset.captions]
        owners = [caption.item for caption in dataset.captions]
        write_features(features / "words.h5", captions, owners, [text], {})
        return SimpleNamespace(folder=folder, features=features, dataset=dataset)

    return plant


@pytest.fixture
def run_toy(planted):
    """Train, embed and evaluate on the planted dataset: all paths, and the dataset.

    The method is CCA, which wants categories, or ridge where there are none.
    """

    def run(labelled=True, views=VIEWS):
        data = planted(labelled)
        spec = (CCA if labelled else RIDGE) | {"views": views, "labels": "single"}
        model = Path("models/toy/seed0/model.safetensors")
        embeddings, metrics = Path("embeddings/toy/seed0.h5"), Path("results/runs/toy/seed0.json")
        train(spec, model, data.folder, data.features, Path("weights"), seed=0)
        embed(spec, embeddings, data.folder, data.features, model)
        evaluate(spec, metrics, embeddings, seed=0)
        return SimpleNamespace(
            spec=spec, data=data, model=model, embeddings=embeddings, metrics=metrics
        )

    return run


def _observe(rng, latent, width):
    """A random linear picture of the latent numbers, with noise of its own."""
    mixed = latent @ rng.standard_normal((latent.shape[1], width))
    return (mixed + 0.5 * rng.standard_normal(mixed.shape)).astype(np.float32)
