import numpy as np
import pytest

from crossmodal.commands import try_ as step
from crossmodal.errors import CrossmodalError
from crossmodal.methods.cca import CCA
from tests.project_params import PARAMS, PATH


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    """Views without a network; nothing may be kept."""
    views = {"text": "bow_item", "speech": "logmel_statistics"}
    monkeypatch.setattr(step, "_views", lambda *_: views)
    monkeypatch.setattr(step, "read", lambda *_: PARAMS)
    yield
    assert list(tmp_path.iterdir()) == []


def test_a_method_is_compared_with_random_scores(capsys):
    step.try_("cca", PATH)
    printed = capsys.readouterr().out
    for shown in ("cca: 30 training items", "this method: mAP", "random scores: mAP", "cca: fine"):
        assert shown in printed


def test_a_method_gets_the_weights_that_it_begins_with(monkeypatch):
    def refuse(path):
        raise CrossmodalError(f"no internet for {path}")

    monkeypatch.setattr(CCA, "weights", "begin.safetensors")
    monkeypatch.setattr(step, "fetch_weights", refuse)
    with pytest.raises(CrossmodalError, match=r"no internet for weights/begin\.safetensors"):
        step.try_("cca", PATH)


def test_a_feature_shows_its_rows(capsys):
    step.try_("bow_item", PATH)
    assert "bow_item: rows (50, " in capsys.readouterr().out


def test_what_a_method_does_wrong_is_told_with_file_and_line(monkeypatch):
    monkeypatch.setattr(CCA, "embed", lambda self, modality, view: np.ones(3))
    with pytest.raises(CrossmodalError, match=r"test_try\.py, line \d+: embed returned"):
        step.try_("cca", PATH)


def test_an_unknown_name_is_corrected():
    with pytest.raises(CrossmodalError, match="did you mean 'cca'"):
        step.try_("ccca", PATH)


def test_what_a_method_lacks_is_told_with_its_file(monkeypatch):
    monkeypatch.setattr(CCA, "fit", lambda *_: None)
    with pytest.raises(CrossmodalError, match=r"cca\.py: AttributeError: 'CCA' .* 'arrays'"):
        step.try_("cca", PATH)


def test_a_plugin_without_an_entry_is_told():
    with pytest.raises(CrossmodalError, match=r"features: has no 'array'; add `array: \{\}`"):
        step.try_("array", PATH)
