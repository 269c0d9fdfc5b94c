import numpy as np
import pytest
import torch

from crossmodal.data import Split, View


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def cpu(monkeypatch):
    """Networks stay on the CPU, whatever the machine has."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


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
