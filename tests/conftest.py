import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from crossmodal.data import Split, View


def pytest_collection_modifyitems(items):
    """The workflow's tests first: they take longest, so that all processors end together."""
    items.sort(key=lambda item: "workflow" not in item.path.parts)


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
    monkeypatch.setattr("crossmodal.training.selection_score", lambda *_: next(epochs))


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

    def answer(self, content, status=200, **headers):
        """Send a whole answer; a header's name has `_` for a dash."""
        self.send_response(status)
        for name, value in {
            "Content_Length": len(content),
            "Connection": "close",
            **headers,
        }.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
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
def waits(monkeypatch):
    """The waits between attempts of a download, none of which is waited for."""
    waits = []
    monkeypatch.setattr("crossmodal.downloads.time", SimpleNamespace(sleep=waits.append))
    return waits
