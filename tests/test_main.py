import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import crossmodal
from crossmodal import __main__ as command_line
from crossmodal.errors import CrossmodalError

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(crossmodal.__file__).parents[1])}
COMMANDS = typer.main.get_command(command_line.app).commands
SPEC = {"plugin": "cca", "options": {"dims": 3}}
# what the step gets, by its module and name, when a command is called
CALLS = {
    "download": (["wikipedia", "a.mat"], "acquire.download", ["wikipedia", Path("a.mat")]),
    "weights": (["raw/w.safetensors"], "acquire.fetch_weights", [Path("raw/w.safetensors")]),
    "prepare": (
        [json.dumps(SPEC), "prepared", "--raw", "raw"],
        "prepare.prepare",
        [SPEC, Path("raw"), Path("prepared")],
    ),
    "extract": (
        [json.dumps(SPEC), "a.h5", "--dataset", "data", "--features", "of", "--weights", "nets"],
        "extract.extract",
        [SPEC, Path("a.h5"), Path("data"), Path("of"), Path("nets")],
    ),
    "train": (
        [
            *(json.dumps(SPEC), "model", "--dataset", "data", "--features", "of"),
            *("--weights", "nets", "--seed", "3"),
        ],
        "train.train",
        [SPEC, Path("model"), Path("data"), Path("of"), Path("nets"), 3],
    ),
    "embed": (
        [json.dumps(SPEC), "a.h5", "--dataset", "data", "--features", "of", "--model", "model"],
        "embed.embed",
        [SPEC, Path("a.h5"), Path("data"), Path("of"), Path("model")],
    ),
    "evaluate": (
        ["a.json", "--embeddings", "a.h5", "--seed", "3"],
        "evaluate.evaluate",
        [Path("a.json"), Path("a.h5"), 3],
    ),
    "within": (
        ["a.json", "--embeddings", "a.h5", "--seed", "3"],
        "within.within",
        [Path("a.json"), Path("a.h5"), 3],
    ),
    "examples": (
        [json.dumps(SPEC), "a.html", "--dataset", "data", "--embeddings", "a.h5"],
        "examples.examples",
        [SPEC, Path("a.html"), Path("data"), Path("a.h5")],
    ),
    "map": (
        [json.dumps(SPEC), "a.svg", "--dataset", "data", "--embeddings", "a.h5"],
        "map.draw_map",
        [SPEC, Path("a.svg"), Path("data"), Path("a.h5")],
    ),
    "plot": (
        [json.dumps(SPEC), "a.svg", "0.json", "1.json"],
        "plot.plot",
        [SPEC, Path("a.svg"), [Path("0.json"), Path("1.json")]],
    ),
    "tabulate": (
        [json.dumps(SPEC), "a.md", "0.json", "1.json"],
        "tabulate.tabulate",
        [SPEC, Path("a.md"), [Path("0.json"), Path("1.json")]],
    ),
    "curves": (
        ["learning.csv", "precision.csv", "0.json", "--models", "models"],
        "curves.curves",
        [Path("learning.csv"), Path("precision.csv"), [Path("0.json")], Path("models")],
    ),
    "figures": (
        [json.dumps(SPEC), "learning.svg", "precision.svg", "--curves", "curves"],
        "figures.figures",
        [SPEC, Path("learning.svg"), Path("precision.svg"), Path("curves")],
    ),
    "margins": (
        [json.dumps(SPEC), "a.svg", "--curve", "curve.csv"],
        "margins.margins",
        [SPEC, Path("a.svg"), Path("curve.csv")],
    ),
    "similarity": (
        [json.dumps(SPEC), "a.svg", "--embeddings", "a.h5"],
        "similarity.similarity",
        [SPEC, Path("a.svg"), Path("a.h5")],
    ),
    "merge": (
        ["all.md", "metrics.json", "a.md", "b.md"],
        "merge.merge",
        [Path("all.md"), Path("metrics.json"), [Path("a.md"), Path("b.md")]],
    ),
    "datasets": ([], "inventory.inventory", [Path("params.yaml")]),
    "check": (
        ["wikipedia", "--params", "other.yaml"],
        "check.check",
        [Path("other.yaml"), "wikipedia"],
    ),
}


def invoke(*arguments):
    return CliRunner().invoke(command_line.app, list(arguments), env={"COLUMNS": "200"})


@pytest.fixture(autouse=True)
def _keep_signals():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def main(monkeypatch, *arguments):
    """Exit code of the program, called with arguments."""
    monkeypatch.setattr(sys, "argv", ["crossmodal", *arguments])
    with pytest.raises(SystemExit) as caught:
        command_line.main()
    return caught.value.code


def test_every_command_is_called_here():
    assert set(COMMANDS) == {*CALLS, "pull"}


def test_help_lists_every_command_and_the_way_to_run_all_of_them():
    result = invoke("--help")
    assert result.exit_code == 0
    assert "snakemake --cores" in result.output
    assert [name for name in COMMANDS if name not in result.output] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_says_what_it_and_all_its_arguments_are(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert COMMANDS[name].help.splitlines()[0] in result.output
    for parameter in COMMANDS[name].params:
        assert parameter.help, parameter.name
        assert parameter.help[:40] in result.output


def test_no_command_shows_the_help():
    assert "Usage" in invoke().output


@pytest.mark.parametrize("name", CALLS)
def test_a_command_hands_its_arguments_to_its_step(monkeypatch, name):
    arguments, step, expected = CALLS[name]
    given = []
    monkeypatch.setattr(f"crossmodal.steps.{step}", lambda *arguments: given.extend(arguments))
    result = invoke(name, *arguments)
    assert (result.exit_code, result.output) == (0, "")
    assert given == expected


def test_check_says_that_a_file_is_fine_or_what_is_not(monkeypatch, tmp_path, capsys):
    path = tmp_path / "params.yaml"
    path.write_text("suite: demo\n")
    assert main(monkeypatch, "check", "--params", str(path)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: params.yaml: suites: ")
    monkeypatch.setattr("crossmodal.steps.check.read", lambda path: None)
    assert main(monkeypatch, "check", "--params", str(path)) == 0
    assert capsys.readouterr().out == f"{path}: fine\n"


def test_an_error_for_the_user_is_one_line(monkeypatch, capsys):
    def fail(*_):
        raise CrossmodalError("a.mat: not the published file")

    monkeypatch.setattr("crossmodal.steps.acquire.download", fail)
    assert main(monkeypatch, "download", "wikipedia", "a.mat") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: a.mat: not the published file\n"


def test_a_mistake_of_the_program_keeps_its_traceback(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("crossmodal.steps.acquire.download", fail)
    monkeypatch.setattr(sys, "argv", ["crossmodal", "download", "wikipedia", "a.mat"])
    with pytest.raises(ZeroDivisionError):
        command_line.main()


@pytest.mark.parametrize("spec", ["", "{", "cca"])
def test_a_spec_that_is_no_json_is_refused(monkeypatch, spec):
    monkeypatch.setattr("crossmodal.steps.prepare.prepare", lambda *_: None)
    result = invoke("prepare", spec, "out", "--raw", "raw")
    assert result.exit_code == 2
    assert "SPEC" in result.output


def test_the_module_runs_and_fails_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "crossmodal", "download", "wikpedia", "a.mat"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: datasets: 'wikpedia' is unknown; known: coco, ")
    assert ended.stderr.count("\n") == 1


UNFINISHED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
import sys, time
from crossmodal import __main__, files
from crossmodal.steps import acquire

def download(dataset, output):
    with files.replacing(output) as temporary:
        print("started", flush=True)
        time.sleep(60)

acquire.download = download
sys.argv = ["crossmodal", "download", "wikipedia", "a.mat"]
__main__.main()
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_ended_leaves_no_temporary_files(tmp_path, end):
    command = [sys.executable, "-c", UNFINISHED]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"started\n"
        process.send_signal(end)
    assert process.returncode > 0
    assert list(tmp_path.iterdir()) == []
