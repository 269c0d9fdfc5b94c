import json
from pathlib import Path

import pytest

from crossmodal.commands import search as step
from crossmodal.errors import CrossmodalError
from crossmodal.search.searcher import Place, Result

PLACE = Place(Path("holiday"), "test", Path("params.yaml"), [Path("holiday.yaml")])
HOW = {"among": "image", "count": 2, "threads": 3, "approximate": True}
RESULTS = [
    Result(1, 0.91234, "beach/1.jpg", "", ()),
    Result(2, 0.5, "a[red].jpg", "waves\x1b[31m and a [bold]ball[/bold]", ("sea", "ball")),
]


@pytest.fixture
def run(monkeypatch):
    """Run the step with a searcher that notes what it is asked."""
    asked = []

    class Searcher:
        name = "model"

        def __init__(self, *given):
            asked.append(given)

        def search(self, *given, **named):
            asked.append((given, named))
            return RESULTS

        def unknown_words(self, query, content):
            return ["zebra\x1b[31m"] if query == "text" else []

    monkeypatch.setattr(step, "Searcher", Searcher)
    monkeypatch.setenv("COLUMNS", "120")

    def run(as_json=False, **queries):
        step.search(
            Path("model"),
            dict.fromkeys(("text", "image", "speech")) | queries,
            PLACE,
            as_json=as_json,
            weights=Path("weights"),
            **HOW,
        )
        return asked

    return run


def test_searcher_gets_query(run):
    assert run(image=Path("a.jpg")) == [
        (Path("model"), Path("weights"), PLACE),
        (("image", Path("a.jpg")), HOW),
    ]


def test_table_replaces_control_characters(run, capsys):
    run(text="a ball")
    printed = capsys.readouterr().out
    for part in ("0.9123", "beach/1.jpg", "a[red].jpg", "[bold]ball[/bold]", "sea, ball"):
        assert part in printed
    assert "\x1b" not in printed


def test_unknown_words_printed_to_stderr(run, capsys):
    run(text="a zebra", as_json=True)
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 2
    assert printed.err == "unknown to the model: zebra\ufffd[31m\n"


def test_json_of_results(run, capsys):
    run(speech=Path("a.wav"), as_json=True)
    printed = capsys.readouterr()
    assert not printed.err
    first, second = json.loads(printed.out)
    assert first == {"rank": 1, "score": 0.91234, "id": "beach/1.jpg", "text": "", "labels": []}
    assert second["labels"] == ["sea", "ball"]


@pytest.mark.parametrize("given", [{}, {"text": "a", "image": Path("b.jpg")}])
def test_query_exactly_one(run, given):
    with pytest.raises(CrossmodalError, match="exactly one of --text, --image and --speech"):
        run(**given)
