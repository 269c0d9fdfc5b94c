import errno
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import crossmodal
from crossmodal import cli as command_line
from crossmodal.cli import user as people
from crossmodal.errors import CrossmodalError

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(crossmodal.__file__).parents[1])}
ROOT = Path(__file__).parents[1]
COMMANDS = typer.main.get_command(command_line.app).commands
LISTS = ("methods", "features", "tables")
SPEC = {"plugin": "cca", "options": {"dims": 3}}
# what the step gets, by its module and name, when a command is called
CALLS = {
    "site": (
        [json.dumps(SPEC), "index.html", "deviations.md"],
        "steps.site.site",
        [SPEC, Path("index.html"), Path("deviations.md")],
    ),
    "serve": (
        [
            *("model", "other", "--in", "holiday", "--split", "train", "--approximate"),
            *("--host", "0.0.0.0", "--port", "80", "--threads", "2", "--weights", "nets"),
            *("--configfile", "mine.yaml"),
        ],
        "commands.serve.serve",
        [
            *([Path("model"), Path("other")], Path("holiday"), "train", True, "0.0.0.0", 80, 2),
            *(Path("nets"), Path("params.yaml"), [Path("mine.yaml")]),
        ],
    ),
    "search": (
        [
            *("model", "--text", "a dog", "--in", "holiday", "--among", "image", "--count", "3"),
            *("--json", "--approximate", "--threads", "2", "--weights", "nets"),
        ],
        "commands.search.search",
        [
            *(Path("model"), "a dog", None, None, Path("holiday"), "test", "image", 3, True),
            *(True, 2, Path("nets"), Path("params.yaml"), []),
        ],
    ),
    "words": (["model"], "commands.words.words", [Path("model")]),
    "mteb": (
        [
            "model",
            "--tasks",
            "scenes",
            "--tasks",
            "CIFAR10",
            "--split",
            "train",
            "--weights",
            "nets",
        ],
        "commands.run_mteb.run_mteb",
        [Path("model"), ["scenes", "CIFAR10"], "train", Path("results/mteb"), Path("nets")],
    ),
    "plan": (
        ["--suite", "demo", "--json"],
        "commands.plan.plan",
        ["demo", True, Path("params.yaml"), []],
    ),
    "download": (["wikipedia", "a.mat"], "steps.download.download", ["wikipedia", Path("a.mat")]),
    "weights": (
        ["raw/w.safetensors"],
        "steps.weights.weights",
        [Path("raw/w.safetensors")],
    ),
    "prepare": (
        [json.dumps(SPEC), "prepared", "--raw", "raw"],
        "steps.prepare.prepare",
        [SPEC, Path("raw"), Path("prepared")],
    ),
    "extract": (
        [
            *(json.dumps(SPEC), "a.h5", "--dataset", "data", "--features", "of"),
            *("--weights", "nets", "--threads", "2"),
        ],
        "steps.extract.extract",
        [SPEC, Path("a.h5"), Path("data"), Path("of"), Path("nets"), 2],
    ),
    "train": (
        [
            *(json.dumps(SPEC), "model", "--dataset", "data", "--features", "of"),
            *("--weights", "nets", "--seed", "3", "--threads", "8"),
        ],
        "steps.train.train",
        [SPEC, Path("model"), Path("data"), Path("of"), Path("nets"), 3, 8],
    ),
    "embed": (
        [json.dumps(SPEC), "a.h5", "--dataset", "data", "--features", "of", "--model", "model"],
        "steps.embed.embed",
        [SPEC, Path("a.h5"), Path("data"), Path("of"), Path("model")],
    ),
    "evaluate": (
        [json.dumps(SPEC), "a.json", "--embeddings", "a.h5", "--seed", "3"],
        "steps.evaluate.evaluate",
        [SPEC, Path("a.json"), Path("a.h5"), 3],
    ),
    "evaluate_posteriors": (
        [json.dumps(SPEC), "a.json", "--dataset", "data", "--features", "of", "--model", "model"],
        "steps.evaluate_posteriors.evaluate_posteriors",
        [SPEC, Path("a.json"), Path("data"), Path("of"), Path("model")],
    ),
    "evaluate_intra_modal": (
        [json.dumps(SPEC), "a.json", "--embeddings", "a.h5", "--seed", "3"],
        "steps.evaluate_intra_modal.evaluate_intra_modal",
        [SPEC, Path("a.json"), Path("a.h5"), 3],
    ),
    "show_examples": (
        [json.dumps(SPEC), "a.html", "a.h5", "b.h5", "--dataset", "data"],
        "steps.show_examples.show_examples",
        [SPEC, Path("a.html"), [Path("a.h5"), Path("b.h5")], Path("data")],
    ),
    "average_curves": (
        ["learning.csv", "precision.csv", "0.json", "--models", "models"],
        "steps.average_curves.average_curves",
        [Path("learning.csv"), Path("precision.csv"), [Path("0.json")], Path("models")],
    ),
    "draw_curves": (
        [json.dumps(SPEC), "learning.svg", "precision.svg", "a.csv", "b.csv"],
        "steps.draw_curves.draw_curves",
        [SPEC, Path("learning.svg"), Path("precision.svg"), [Path("a.csv"), Path("b.csv")]],
    ),
    "draw_figure": (
        [json.dumps(SPEC), "a.svg", "a.csv", "0.json", "1.json"],
        "steps.draw_figure.draw_figure",
        [SPEC, Path("a.svg"), Path("a.csv"), [Path("0.json"), Path("1.json")]],
    ),
    "draw_map": (
        [json.dumps(SPEC), "a.svg", "a.h5", "items.csv"],
        "steps.draw_map.draw_map",
        [SPEC, Path("a.svg"), Path("a.h5"), Path("items.csv")],
    ),
    "draw_margins": (
        [json.dumps(SPEC), "a.svg", "curve.csv"],
        "steps.draw_margins.draw_margins",
        [SPEC, Path("a.svg"), Path("curve.csv")],
    ),
    "draw_similarity": (
        [json.dumps(SPEC), "a.svg", "a.h5"],
        "steps.draw_similarity.draw_similarity",
        [SPEC, Path("a.svg"), Path("a.h5")],
    ),
    "tabulate": (
        [json.dumps(SPEC), "a.md", "a.csv", "0.json", "1.json"],
        "steps.tabulate.tabulate",
        [SPEC, Path("a.md"), Path("a.csv"), [Path("0.json"), Path("1.json")]],
    ),
    "merge": (
        ["all.md", "metrics.json", "a.md", "b.md"],
        "steps.merge.merge",
        [Path("all.md"), Path("metrics.json"), [Path("a.md"), Path("b.md")]],
    ),
    "try": (["sam"], "commands.trial.trial", ["sam", Path("params.yaml"), []]),
    "init": (
        ["holiday"],
        "commands.init.init",
        [Path("holiday"), None, False, Path("params.yaml")],
    ),
    "datasets": ([], "commands.inventory.inventory", [Path("params.yaml"), []]),
    "describe": (
        ["sam", "--configfile", "a.yaml", "--configfile", "b.yaml"],
        "commands.describe.describe",
        ["sam", Path("params.yaml"), [Path("a.yaml"), Path("b.yaml")]],
    ),
    **{name: ([], f"commands.listing.{name}", [Path("params.yaml"), []]) for name in LISTS},
    "why": (["results/tables/all.md"], "commands.why.why", [Path("results/tables/all.md")]),
    "update": (
        ["model", "--dataset", "scenes", "--triplets", "40", "--lot", "5", "--output", "new"],
        "commands.update.update",
        [Path("model"), "scenes", Path("new"), 40, 5, None, Path("data/raw/weights")],
    ),
    "clean": (
        ["raw", "wikipedia"],
        "commands.clean.clean_raw",
        ["wikipedia", Path("params.yaml"), []],
    ),
    "check": (
        ["wikipedia", "--params", "other.yaml"],
        "commands.check.check",
        ["wikipedia", Path("other.yaml"), []],
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


def test_the_version_is_that_of_the_package():
    assert invoke("--version").output == f"{importlib.metadata.version('crossmodal-retrieval')}\n"


def test_help_has_a_short_option():
    assert invoke("train", "-h").output == invoke("train", "--help").output


def test_a_mistyped_command_is_corrected():
    result = invoke("chekc")
    assert result.exit_code == 2
    assert "Did you mean 'check'?" in result.output


def test_plumbing_has_a_group_of_its_own_below():
    people, steps = invoke("-h").output.split("Steps of the workflow")
    assert "describe" in people
    assert "draw_curves" not in people
    assert "draw_curves" in steps


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("chec", ["check"]),
        ("check wikip", ["wikipedia", "wikipedia_462", "wikipedia_media"]),
        ("describe mis", ["misa"]),
    ],
)
def test_commands_and_names_are_completed(typed, found):
    environment = ENVIRONMENT | {
        "_CROSSMODAL_COMPLETE": "complete_bash",
        "COMP_WORDS": f"crossmodal {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    command = [sys.executable, "-c", "from crossmodal.cli import app; app(prog_name='crossmodal')"]
    printed = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    ).stdout
    assert printed.split() == found


def test_names_are_not_completed_from_an_unfinished_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert people._datasets("") == []
    (tmp_path / "params.yaml").write_text("datasets: {a: {}, [")
    assert people._datasets("") == []


def test_no_command_shows_the_help():
    assert "Usage" in invoke().output


@pytest.mark.parametrize("name", CALLS)
def test_a_command_hands_its_arguments_to_its_step(monkeypatch, name):
    arguments, step, expected = CALLS[name]
    given = []
    monkeypatch.setattr(f"crossmodal.{step}", lambda *arguments: given.extend(arguments))
    result = invoke(name, *arguments)
    assert (result.exit_code, result.output) == (0, "")
    assert given == expected


def test_check_says_that_a_file_is_fine_or_what_is_not(monkeypatch, tmp_path, capsys):
    path = tmp_path / "params.yaml"
    path.write_text("suite: demo\n")
    assert main(monkeypatch, "check", "--params", str(path)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"error: {path}: suites: ")
    fine = SimpleNamespace(broken={}, features={})
    monkeypatch.setattr("crossmodal.commands.check.read", lambda *files: fine)
    assert main(monkeypatch, "check", "--params", str(path), "--configfile", "b.yaml") == 0
    assert capsys.readouterr().out == f"{path}, b.yaml: fine\n"


def test_an_error_for_the_user_is_one_line(monkeypatch, capsys):
    def fail(*_):
        raise CrossmodalError("a.mat: not the published file")

    monkeypatch.setattr("crossmodal.steps.download.download", fail)
    assert main(monkeypatch, "download", "wikipedia", "a.mat") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: a.mat: not the published file\n"


def test_a_mistake_of_the_program_keeps_its_traceback(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("crossmodal.steps.download.download", fail)
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
    assert ended.stderr.endswith("; did you mean 'wikipedia'?\n")
    assert ended.stderr.count("\n") == 1


UNFINISHED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
import sys, time
from crossmodal import cli
from crossmodal.io import files
from crossmodal.steps import download as acquire

def download(dataset, output):
    with files.replacing(output) as temporary:
        print("started", flush=True)
        time.sleep(60)

acquire.download = download
sys.argv = ["crossmodal", "download", "wikipedia", "a.mat"]
cli.main()
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


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.h5"), "a.h5'; free some space and"),
        (OSError("10240 requested and 4064 written"), "; No space left on device: free some"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "a.h5"), "a.h5'; make it writable and"),
        (OSError(errno.EACCES, os.strerror(errno.EACCES), "a.h5"), "a.h5'; allow it and"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "; give it more memory and"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you"), "more memory and"),
        (MemoryError("Unable to allocate 3.00 GiB for an array"), "give it more memory and"),
        (OSError("AF_UNIX path too long"), "; let TMPDIR have at most 70 characters and"),
        (RuntimeError("cumsum does not have a deterministic implementation"), "determin"),
    ],
)
def test_what_the_system_refuses_is_said_with_what_to_do(monkeypatch, capsys, error, advice):
    def fail(*_):
        raise error

    monkeypatch.setattr("crossmodal.commands.inventory.inventory", fail)
    assert main(monkeypatch, "datasets") == 1
    said = capsys.readouterr().err
    assert advice in said
    assert said.endswith("run the same command again\n")
