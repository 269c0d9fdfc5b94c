from types import SimpleNamespace

import pytest

from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.datasets import layouts


@pytest.fixture
def failure(tmp_path):
    """The message of a preparation that fails, which must leave nothing in tmp_path/prepared."""

    def failure(prepare, *arguments, **options):
        with pytest.raises(CrossmodalError) as caught:
            prepare(*arguments, **options)
        assert list((tmp_path / "prepared").iterdir()) == []
        return str(caught.value)

    return failure


@pytest.fixture
def small(tmp_path, monkeypatch, rng):
    """A dataset of `layouts`: its module, the folder of its files, and `prepare` with options."""

    def make(name):
        layout, raw = layouts.every()[name], tmp_path / "raw"
        layouts.shrink(monkeypatch, name, layout.CONSTANTS)
        raw.mkdir()
        layout.make(raw, rng)

        def run(**options):
            spec = PrepareSpec(plugin=name, options=layout.DATASETS.get(name, {}) | options)
            prepare(spec, raw, tmp_path / "prepared")
            return Prepared(tmp_path / "prepared")

        sizes = layout.CONSTANTS.get("COUNTS")
        return SimpleNamespace(layout=layout, sizes=sizes, raw=raw, prepare=run)

    return make
