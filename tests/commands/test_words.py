import pytest

from crossmodal.commands import words as step
from crossmodal.errors import CrossmodalError


class Fitted:
    """A model of a few words."""

    def __init__(self, meta):
        self.features = {"text": meta, "image": {}}

    def words(self, text):
        return {text: True} if text.isalpha() else {}


@pytest.fixture
def run(monkeypatch, tmp_path):
    def run(meta):
        monkeypatch.setattr(step, "load", lambda _: Fitted(meta))
        step.words(tmp_path / "model")

    return run


def test_known_words_are_printed_in_order_without_marks(run, capsys):
    run({"vocabulary": ["<pad>", "<unk>", "sea", ".", "ball", "мяч"]})
    assert capsys.readouterr().out == "sea\nball\nмяч\n"


def test_a_model_without_words_is_refused(run):
    with pytest.raises(CrossmodalError, match="uses a text encoder"):
        run({})
