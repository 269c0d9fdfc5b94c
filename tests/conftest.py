import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from crossmodal.config.fit import non_defaults
from crossmodal.data.feature_file import write_features
from crossmodal.data.prepared import Prepared
from crossmodal.data.split import Split, View
from crossmodal.data.writer import Writer
from crossmodal.steps.embed import embed
from crossmodal.steps.evaluate import evaluate
from crossmodal.steps.train import train
from crossmodal.workflow.specs import EmbedSpec, EvaluateSpec, TrainSpec
from tests.hub_host import WRITER, serving
from tests.team import Team

SIZES = {"train": 40, "validation": 20, "test": 24}
CATEGORIES = 3
CAPTIONS = 2
CCA = {
    "plugin": "cca",
    "options": {"dims": 4, "ridge": 0.0, "power": 1.0},
    "search": {"dims": [5, 3]},
}
RIDGE = {
    "plugin": "ridge",
    "options": {"penalty": 0.01, "whitening": 0.0},
    "search": {},
}
VIEWS = {"image": "pixels", "text": "words"}


# no other test waits for the first
TOPICS = ("datasets", "dvc", "sharing", "elsewhere", "starts", "tutorial", "faults")
TOPICS += ("published_tables", "declared_files", "growth")
LONGEST = [f"test_{topic}.py" for topic in TOPICS]


def pytest_collection_modifyitems(items):
    """Order files by how long they take, so that all processors end together."""
    items.sort(key=lambda item: _place(item.path))


def _place(path):
    """Return where a file comes: the longest first, then what else is of the workflow."""
    if path.name in LONGEST:
        return LONGEST.index(path.name)
    return len(LONGEST) + ("workflow" not in path.parts)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def cpu(monkeypatch):
    """Networks stay on the CPU, whatever the machine has."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def keep_last(monkeypatch):
    """Training keeps its last epoch, whatever the validation scores."""
    epochs = iter(range(10**6))
    monkeypatch.setattr("crossmodal.training.gradient.selection_score", lambda *_: next(epochs))


@pytest.fixture(scope="session")
def make_split():
    """Make a split from the rows of each view; rows are spread evenly over the items."""

    def make(views, labels=None, **meta):
        count = min(len(rows) for rows in views.values())
        labels = np.zeros((count, 0), bool) if labels is None else np.asarray(labels, bool)
        made = {}
        for modality, rows in views.items():
            owners = np.arange(len(rows)) * count // len(rows)
            made[modality] = View(rows, owners, [str(row) for row in range(len(rows))], meta)
        return Split([str(item) for item in range(count)], labels, made)

    return make


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Write a dataset whose image and text features share five noisy latent numbers.

    Its splits and categories are mixed; each item has one row of image features and one row of
    text features for each of its two captions. The working folder becomes an empty one, since
    steps keep unfinished work there.
    """
    monkeypatch.chdir(tmp_path)

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


@pytest.fixture(scope="session")
def team():
    """Three processes that train together."""
    found = Team(3)
    yield found
    found.pool.shutdown()


@pytest.fixture
def run_toy(planted):
    """Train, embed and evaluate on the planted dataset: all paths, and the dataset.

    The method is CCA, which wants categories, or ridge where there are none.
    """

    def run(labelled=True, views=VIEWS, **changes):
        data = planted(labelled)
        spec = EmbedSpec(views=views, relevance="category", code="0123", **changes)
        fit = TrainSpec(**(CCA if labelled else RIDGE), **non_defaults(spec))
        model = Path("models/toy/seed0/model.safetensors")
        embeddings, metrics = Path("embeddings/toy/seed0.h5"), Path("results/runs/toy/seed0.json")
        train(fit, model, data.folder, data.features, Path("weights"), seed=0)
        embed(spec, embeddings, data.folder, data.features, model)
        evaluate(EvaluateSpec(code="0123"), metrics, embeddings, seed=0)
        return SimpleNamespace(
            spec=spec, data=data, model=model, embeddings=embeddings, metrics=metrics
        )

    return run


def _observe(rng, latent, width):
    """A random linear picture of the latent numbers, with noise of its own."""
    mixed = latent @ rng.standard_normal((latent.shape[1], width))
    return (mixed + 0.5 * rng.standard_normal(mixed.shape)).astype(np.float32)


class Handler(BaseHTTPRequestHandler):
    """Answers from `server.files`: path -> content, or what answers in place of it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requested.append(self.path)
        found = self.server.files.get(self.path)
        if callable(found):
            found(self)
        elif found is None:
            self.send_error(404)
        else:
            self.answer(found)

    def do_HEAD(self):
        self.do_GET()

    def answer(self, content, status=200, **headers):
        """Send a complete answer; a header's name has `_` for a dash."""
        self.send_response(status)
        for name, value in {
            "Content_Length": len(content),
            "Connection": "close",
            **headers,
        }.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        """Keep the test's output clean."""


@pytest.fixture
def server(monkeypatch):
    """A host on the loopback interface; `files` is what it publishes, `url` where."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.requested = {}, []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def hub(monkeypatch, tmp_path_factory):
    """A stand-in of the Hugging Face hub, with an empty cache; this machine is logged in."""
    home = tmp_path_factory.mktemp("hub")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_TOKEN", WRITER)
    for name, value in {
        "HF_HUB_CACHE": str(home / "cache"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_HUB_DISABLE_XET": True,
        "HF_HUB_DISABLE_PROGRESS_BARS": True,
    }.items():
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
    with serving() as host:
        monkeypatch.setenv("HF_ENDPOINT", host.url)
        host.cache = home / "cache"
        yield host


@pytest.fixture
def waits(monkeypatch):
    """The waits between attempts of a download, none of which is waited for."""
    waits = []
    monkeypatch.setattr("crossmodal.io.downloads.time", SimpleNamespace(sleep=waits.append))
    return waits
