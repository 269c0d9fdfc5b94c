import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.prepared import Prepared
from crossmodal.steps.prepare import prepare


@pytest.fixture
def failure(tmp_path):
    """The message of a preparation that fails, which must leave nothing in tmp_path/prepared."""

    def failure(prepare, *arguments):
        with pytest.raises(CrossmodalError) as caught:
            prepare(*arguments)
        assert list((tmp_path / "prepared").iterdir()) == []
        return str(caught.value)

    return failure


@pytest.fixture
def layout():
    """A module of layouts/, which makes a dataset's published files in small."""

    def load(name):
        path = Path(__file__).parent / "layouts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"layouts.{name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def small(tmp_path, layout, monkeypatch):
    """A dataset's published files in small: `raw`, its folder, and `prepare` with options."""

    def make(name):
        module, raw = layout(name), tmp_path / "raw"
        raw.mkdir()
        sizes = {"train": 12, "validation": 3, "test": 3}
        module.make(raw, np.random.default_rng(0), sizes)
        monkeypatch.setattr(plugins.load("datasets", name), "counts", lambda self: sizes)

        def run(**options):
            spec = {"plugin": name, "options": module.OPTIONS | options}
            prepare(spec, raw, tmp_path / "prepared")
            return Prepared(tmp_path / "prepared")

        return SimpleNamespace(layout=module, sizes=sizes, raw=raw, prepare=run)

    return make
