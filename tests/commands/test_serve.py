import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.commands import serve as step
from crossmodal.errors import CrossmodalError
from crossmodal.search.place import Place

testclient = pytest.importorskip("fastapi.testclient")

FOLDERS = [Path("a"), Path("b")]
PLACE = Place(None, "test", Path("params.yaml"), [Path("holiday.yaml")])


@pytest.fixture
def run(monkeypatch):
    """Run the step with searchers and a server that only note what they get."""
    notes = SimpleNamespace(searchers=[], prepared=0, listening=None)

    class Searcher:
        name = "toy/seed0"
        model = SimpleNamespace(modalities=())

        def __init__(self, *given):
            notes.searchers.append(given)

        def prepare(self):
            notes.prepared += 1

    class Server:
        def __init__(self, config):
            notes.app = config.app

        def run(self, sockets):
            notes.listening = sockets[0].getsockname()

    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr(step, "Searcher", Searcher)
    monkeypatch.setattr(Place, "training_pairs", lambda place, run: 40)
    monkeypatch.setattr(uvicorn, "Server", Server)

    def run(host="127.0.0.1", port=0):
        step.serve(
            FOLDERS,
            PLACE,
            host=host,
            port=port,
            approximate=False,
            threads=2,
            weights=Path("weights"),
        )
        return notes

    return run


def test_address_printed_after_indexes_open(run, capsys):
    notes = run()
    assert notes.searchers == [(folder, Path("weights"), PLACE) for folder in FOLDERS]
    assert notes.prepared == 2
    host, port = notes.listening
    assert host == "127.0.0.1"
    printed = capsys.readouterr()
    assert printed.out == f"http://127.0.0.1:{port}/ (Ctrl+C stops it)\n"
    assert not printed.err


def test_other_host_warns(run, capsys):
    assert run(host="0.0.0.0").listening[0] == "0.0.0.0"
    assert "can search" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "name", "status"),
    [
        ("127.0.0.1", "localhost", 200),
        ("127.0.0.1", "evil.example", 400),
        ("127.0.0.2", "127.0.0.2", 200),
        ("127.0.0.2", "evil.example", 400),
        ("0.0.0.0", "a.proxy.example", 200),
    ],
)
def test_page_answers_its_own_host_name(run, host, name, status):
    client = testclient.TestClient(run(host=host).app, base_url=f"http://{name}")
    assert client.get("/").status_code == status


def test_taken_port_refused(run):
    with step._listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CrossmodalError, match=f"127.0.0.1:{port}: .* --port"):
            run(port=port)


def test_missing_library_refused(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(
        CrossmodalError, match=r"uvicorn: pip install 'crossmodal-retrieval\[serve\]'"
    ):
        run()
