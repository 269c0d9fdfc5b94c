import json
from pathlib import Path

import numpy as np
import pytest

from crossmodal.commands import search as step
from crossmodal.errors import CrossmodalError
from crossmodal.search.place import Place
from crossmodal.search.result import Result

PLACE = Place(Path("holiday"), "test", Path("params.yaml"), [Path("holiday.yaml")])
HOW = {"among": "image", "count": 2, "threads": 3, "approximate": True}
RESULTS = [
    Result("beach/1.jpg", "", (), rank=1, score=0.91234, z_score=2.46, common=()),
    Result(
        "a[red].jpg",
        "waves\x1b[31m and a [bold]ball[/bold]",
        ("sea", "ball"),
        rank=2,
        score=0.5,
        z_score=None,
        common=("ball",),
    ),
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

        search_like = search_by_row = search

        def other_than(self, modality):
            return {"image": "text"}[modality]

        def unknown_words(self, query, content):
            return ["zebra\x1b[31m"] if query == "text" else []

    monkeypatch.setattr(step, "Searcher", Searcher)
    monkeypatch.setattr(Place, "training_pairs", lambda place, run: None)
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


def test_an_item_and_a_row_are_queries(run):
    assert run(item="beach1")[1] == (("text", "beach1"), HOW)
    rows = np.arange(6.0).reshape(3, 2)
    np.save("a.npy", rows)
    np.save("b.npy", rows[1])
    for place in ("a.npy:1", "b.npy"):
        ((_, row), _) = run(row=place)[-1]
        np.testing.assert_array_equal(row, rows[1:2])
    for place, message in (("a.npy", "a.npy: has 3 rows; say which"), ("a.npy:3", "no row 3")):
        with pytest.raises(CrossmodalError, match=message):
            run(row=place)


def test_table_replaces_control_characters(run, capsys):
    run(text="a ball")
    printed = capsys.readouterr().out
    for part in ("0.9123", "+2.5", "beach/1.jpg", "a[red].jpg", "[bold]ball[/bold]", "sea, ball"):
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
    item = {"id": "beach/1.jpg", "text": "", "labels": []}
    assert first == item | {"rank": 1, "score": 0.91234, "z_score": 2.46, "common": []}
    assert second["labels"] == ["sea", "ball"]


def test_few_training_pairs_noted(run, capsys, monkeypatch):
    monkeypatch.setattr(Place, "training_pairs", lambda place, run: 40)
    run(text="a ball", as_json=True)
    assert "model: fitted on 40 pairs, which teach little" in capsys.readouterr().err


@pytest.mark.parametrize("given", [{}, {"text": "a", "image": Path("b.jpg")}])
def test_query_exactly_one(run, given):
    with pytest.raises(
        CrossmodalError, match="exactly one of --text, --image, --speech, --item, --row"
    ):
        run(**given)
