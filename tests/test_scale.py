"""The plan for 100 million pairs."""

import importlib
from pathlib import Path

import pytest

from tests.project_params import PARAMS

ROOT = Path(__file__).parents[1]


@pytest.fixture
def script(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.chdir(tmp_path)  # without runs, which would count first
    return importlib.import_module("scale")


def test_the_page_is_of_the_costs_of_today(script):
    assert (ROOT / "docs/scale.md").read_text() == script.page(PARAMS)


def test_parts_share_the_gpu_and_repeat_the_verification(script, monkeypatch):
    rates = script.Rates(PARAMS)
    before = script.plan(rates)[0][1]
    monkeypatch.setattr(script, "PARTS", 2 * script.PARTS)
    after = script.plan(rates)[0][1]
    assert after.gpu == before.gpu
    assert after.processor == pytest.approx(2 * before.processor)
