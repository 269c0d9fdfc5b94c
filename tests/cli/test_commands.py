"""The command line: help, completion, arguments, and how it fails."""

import errno
import importlib.metadata
import os
import re
import shlex
import signal
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import crossmodal
from crossmodal import cli
from crossmodal.cli import arguments
from crossmodal.config.table import Table
from crossmodal.errors import CrossmodalError
from crossmodal.io import checkpoints
from crossmodal.search.place import Place
from crossmodal.workflow.report_specs import (
    ClaimsSpec,
    DrawSpec,
    ExamplesSpec,
    FoldsSpec,
    Margins,
    SiteSpec,
    TabulateSpec,
)
from crossmodal.workflow.specs import (
    EmbedSpec,
    EvaluateSpec,
    ExtractSpec,
    PrepareSpec,
    TrainSpec,
)

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(crossmodal.__file__).parents[1])}
ROOT = Path(__file__).parents[2]
COMMANDS = typer.main.get_command(cli.app).commands
PLUGIN = {"plugin": "cca", "options": {"dims": 3}}
DATA = {"views": {"image": "fc7", "text": "bow"}, "relevance": "category"}
TABLE = Table(title="Toy", experiments=["toy"], metrics=["mAP"])
PARTS = {"deterministic": [], "departures": [], "figures": {}}
SPECS = {
    "prepare": PrepareSpec(**PLUGIN),
    "judge": PrepareSpec(**PLUGIN),
    "extract": ExtractSpec(**PLUGIN, code="0123"),
    "train": TrainSpec(**PLUGIN, **DATA, search={}),
    "embed": EmbedSpec(**DATA),
    "evaluate": EvaluateSpec(fit="0123"),
    "evaluate_posteriors": EmbedSpec(**DATA),
    "evaluate_intra_modal": EvaluateSpec(fit="0123"),
    "evaluate_folds": FoldsSpec(fit="0123", folds=5),
    "evaluate_qrels": EvaluateSpec(fit="0123"),
    "show_examples": ExamplesSpec(labels=["CCA"], dataset="toy", relevance="category"),
    "draw": DrawSpec(drawing=Margins(title="Toy")),
    "tabulate": TabulateSpec(table=TABLE, experiments={}, **PARTS),
    "claims": ClaimsSpec(experiments={}),
    "site": SiteSpec(suite="demo", tables={}, experiments={}),
}
JSON = {name: spec.to_json() for name, spec in SPECS.items()}
PARAMS, WEIGHTS, MODEL = Path("params.yaml"), Path("data/raw/weights"), Path("model")
INPUTS = ("--dataset", "data", "--features", "of")
OPENED = [Path("out"), Path("data"), Path("of")]
FILES = [Path("a"), Path("b")]
QUERIES = dict.fromkeys(("text", "image", "speech", "item", "row"))
QUERY = {
    "place": Place(Path("holiday"), "train", PARAMS, [Path("mine.yaml")]),
    **{"among": "image", "count": 3, "as_json": True, "approximate": True},
    **{"threads": 2, "weights": Path("nets")},
}
PAGE = {
    "place": Place(None, "test", PARAMS, []),
    **{"host": "0.0.0.0", "port": 80, "approximate": False},
    **{"threads": arguments.THREADS, "weights": WEIGHTS},
}
ELSEWHERE = ("--in", "holiday", "--split", "train", "--configfile", "mine.yaml")
# command line -> the function that it calls, with its arguments in order
CALLS = {
    ("compare", "a", "b/seed1", "--json", "--page", "a.html"): (
        "commands.compare.compare",
        ["a", "b/seed1", True, Path("a.html"), PARAMS, []],
    ),
    ("claims", JSON["claims"], "a.md", "a.csv", "a.svg", "0.json"): (
        "steps.claims.claims",
        [SPECS["claims"], Path("a.md"), Path("a.csv"), Path("a.svg"), [Path("0.json")]],
    ),
    ("evaluate", "a", "b", "--query-ids", "q.csv", "--gallery-ids", "d.csv", "--json"): (
        "commands.evaluate.evaluate",
        [FILES, None, Path("q.csv"), Path("d.csv"), None, True],
    ),
    ("export", "toy/seed0", "--trec", "--output", "trec", "--depth", "5"): (
        "commands.export.export",
        ["toy/seed0", Path("trec"), 5],
    ),
    ("init", "holiday"): ("commands.init.init", [Path("holiday"), None, False, PARAMS, None]),
    ("check", "toy", "--params", "b.yaml"): ("commands.check.check", ["toy", Path("b.yaml"), []]),
    ("describe", "sam", "--configfile", "a", "--configfile", "b"): (
        "commands.describe.describe",
        ["sam", PARAMS, FILES],
    ),
    ("run", "all.md", "--cores", "8"): ("commands.run.run", [["all.md", "--cores", "8"]]),
    ("try", "sam"): ("commands.try_.try_", ["sam", PARAMS, []]),
    ("datasets",): ("commands.datasets.datasets", [PARAMS, []]),
    **{
        (name,): ("commands.listing.listing", [name, PARAMS, []])
        for name in ("methods", "features", "tables")
    },
    ("clean", "raw", "toy"): ("commands.clean.clean_raw", ["toy", PARAMS, []]),
    ("plan", "--suite", "demo", "--json"): ("commands.plan.plan", ["demo", True, PARAMS, []]),
    ("push", "toy/seed0", "team/toy", "--private", "--dry-run"): (
        "commands.push.push",
        ["toy/seed0", "team/toy", True, True, PARAMS, []],
    ),
    ("pull", "features", "data"): ("workflow.sharing.pull", [["features", "data"]]),
    ("why", "all.md"): ("commands.why.why", [Path("all.md")]),
    (
        "update",
        "model",
        "--dataset",
        "toy",
        "--triplets",
        "40",
        "--batch-size",
        "5",
        "--output",
        "a",
    ): (
        "commands.update.update",
        [MODEL, "toy", Path("a"), 40, 5, None, WEIGHTS],
    ),
    (
        *("search", "model", "--text", "a dog", "--among", "image", "--count", "3", "--json"),
        *("--approximate", "--threads", "2", "--weights", "nets", *ELSEWHERE),
    ): (
        "commands.search.search",
        [MODEL, QUERIES | {"text": "a dog"}, *QUERY.values()],
    ),
    ("serve", "a", "b", "--host", "0.0.0.0", "--port", "80"): (
        "commands.serve.serve",
        [FILES, *PAGE.values()],
    ),
    ("words", "model"): ("commands.words.words", [MODEL]),
    ("mteb", "model", "--tasks", "toy", "--tasks", "CIFAR10", "--split", "train"): (
        "commands.mteb.mteb",
        ["model", ["toy", "CIFAR10"], "train", Path("results/mteb"), WEIGHTS, PARAMS, []],
    ),
    ("download", "toy", "a.mat"): ("steps.download.download", ["toy", Path("a.mat")]),
    ("weights", "raw/w"): ("steps.weights.weights", [Path("raw/w")]),
    ("prepare", JSON["prepare"], "out", "--raw", "raw"): (
        "steps.prepare.prepare",
        [SPECS["prepare"], Path("raw"), Path("out")],
    ),
    (
        *("prepare_in_shards", JSON["prepare"], "out", "--raw", "raw"),
        *("--max-shard-size", "1000"),
    ): (
        "steps.prepare_in_shards.prepare_in_shards",
        [SPECS["prepare"], Path("raw"), Path("out"), 1000],
    ),
    ("judge", JSON["judge"], "out", "--raw", "raw"): (
        "steps.judge.judge",
        [SPECS["judge"], Path("raw"), Path("out")],
    ),
    ("extract", JSON["extract"], "out", *INPUTS, "--weights", "nets", "--threads", "2"): (
        "steps.extract.extract",
        [SPECS["extract"], *OPENED, Path("nets"), 2],
    ),
    (
        *("extract_part", JSON["extract"], "out", *INPUTS, "--weights", "nets"),
        *("--part", "2", "--parts", "3", "--threads", "4"),
    ): (
        "steps.extract_part.extract_part",
        [SPECS["extract"], *OPENED, Path("nets"), 2, 3, 4],
    ),
    ("join_parts", "out", "a", "b"): ("steps.join_parts.join_parts", [Path("out"), FILES]),
    (
        "train",
        JSON["train"],
        "out",
        *INPUTS,
        "--weights",
        "nets",
        "--seed",
        "3",
        "--threads",
        "8",
    ): (
        "steps.train.train",
        [SPECS["train"], *OPENED, Path("nets"), 3, 8],
    ),
    ("embed", JSON["embed"], "out", *INPUTS, "--model", "model"): (
        "steps.embed.embed",
        [SPECS["embed"], *OPENED, MODEL],
    ),
    ("evaluate_posteriors", JSON["evaluate_posteriors"], "out", *INPUTS, "--model", "model"): (
        "steps.evaluate_posteriors.evaluate_posteriors",
        [SPECS["evaluate_posteriors"], *OPENED, MODEL],
    ),
    **{
        (command, JSON[name], "out", "--embeddings", "a.h5", "--seed", "3"): (
            f"steps.{name}.{name}",
            [SPECS[name], Path("out"), Path("a.h5"), 3],
        )
        for command, name in {
            "evaluate_run": "evaluate",
            "evaluate_intra_modal": "evaluate_intra_modal",
            "evaluate_folds": "evaluate_folds",
        }.items()
    },
    (
        *("evaluate_qrels", JSON["evaluate_qrels"], "out", "--embeddings", "a.h5"),
        *("--dataset", "data", "--seed", "3", "--qrels", "own.csv"),
    ): (
        "steps.evaluate_qrels.evaluate_qrels",
        [SPECS["evaluate_qrels"], *map(Path, ("out", "a.h5", "own.csv", "data")), 3],
    ),
    ("show_examples", JSON["show_examples"], "out", "a", "b", "--dataset", "data"): (
        "steps.show_examples.show_examples",
        [SPECS["show_examples"], Path("out"), FILES, Path("data")],
    ),
    ("average_curves", "learning", "precision", "a", "b", "--models", "models"): (
        "steps.average_curves.average_curves",
        [Path("learning"), Path("precision"), FILES, Path("models")],
    ),
    **{
        (name, JSON[name], "first", "second", "a", "b"): (
            f"steps.{name}.{name}",
            [SPECS[name], Path("first"), Path("second"), FILES],
        )
        for name in ("draw", "tabulate")
    },
    ("site", JSON["site"], "out", "in"): (
        "steps.site.site",
        [SPECS["site"], Path("out"), Path("in")],
    ),
    ("merge", "all.md", "all.json", "a", "b"): (
        "steps.merge.merge",
        [Path("all.md"), Path("all.json"), FILES],
    ),
}


def invoke(*arguments):
    return CliRunner().invoke(cli.app, list(arguments), env={"COLUMNS": "200"})


@pytest.fixture(autouse=True)
def _keep_signals():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def main(monkeypatch, *arguments):
    """Exit code of the program, called with arguments."""
    monkeypatch.setattr(sys, "argv", ["crossmodal", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code


def test_unfinished_work_is_kept_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoints, "FOLDER", checkpoints.FOLDER)  # restored at the end
    main(monkeypatch, "--version")
    assert Path(".checkpoints") == checkpoints.FOLDER
    monkeypatch.setenv("CROSSMODAL_CHECKPOINTS", str(tmp_path))
    main(monkeypatch, "--version")
    with checkpoints.unfinished_work(Path("features/a.h5"), "job") as folder:
        assert folder.is_relative_to(tmp_path / "features")


def test_calls_of_every_command():
    assert set(COMMANDS) == {line[0] for line in CALLS}


def test_help_lists_commands_by_task_on_a_screen():
    result = invoke("--help")
    assert result.exit_code == 0
    assert "snakemake --cores" in result.output
    for name, command in COMMANDS.items():
        assert bool(re.search(rf"^│ {name} ", result.output, re.M)) != command.hidden
        assert command.hidden or command.rich_help_panel in result.output
    assert len(result.output.splitlines()) <= 50
    assert invoke().output.strip() == result.output.strip()


EXAMPLES = [
    command.epilog.removeprefix("Example: ")
    for group in (COMMANDS, COMMANDS["clean"].commands)
    for command in group.values()
    if not command.hidden and not hasattr(command, "commands")
]
READERS = ("check", "describe", "datasets", "methods", "features", "tables")


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_of_help(example, monkeypatch):
    program, name, *rest = shlex.split(example)
    assert program == "crossmodal"
    command = COMMANDS[name]
    if hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    command.make_context(name, [*rest])
    if name in READERS:
        monkeypatch.chdir(ROOT)
        assert invoke(name, *rest).exit_code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_command_and_arguments(name):
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert COMMANDS[name].help.splitlines()[0] in result.output
    for parameter in COMMANDS[name].params:
        assert parameter.help, parameter.name
        assert parameter.help[:40] in result.output
    assert invoke(name, "-h").output == result.output


def test_version_of_package():
    assert invoke("--version").output == f"{importlib.metadata.version('crossmodal-retrieval')}\n"


def test_mistyped_command_corrected():
    result = invoke("chekc")
    assert result.exit_code == 2
    assert "Did you mean 'check'?" in result.output


QUICK = """
import sys
from typer.testing import CliRunner
from crossmodal.cli import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
print(*sorted({"torch", "numpy", "h5py", "snakemake", "scipy"} & sys.modules.keys()))
"""


def test_help_imports_no_library():
    command = [sys.executable, "-c", QUICK]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("chec", ["check"]),
        ("check voc", ["voc2007"]),
        ("describe mis", ["misa"]),
    ],
)
def test_completion_of_commands_and_names(typed, names):
    environment = ENVIRONMENT | {
        "_CROSSMODAL_COMPLETE": "complete_bash",
        "COMP_WORDS": f"crossmodal {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    command = [sys.executable, "-c", "from crossmodal.cli import app; app(prog_name='crossmodal')"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.stdout.split() == names


def test_completion_of_unfinished_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert arguments.complete_dataset("") == []
    (tmp_path / "params.yaml").write_text("datasets: {a: {}, [")
    assert arguments.complete_dataset("") == []


@pytest.mark.parametrize("line", CALLS, ids=lambda line: line[0])
def test_command_calls_its_function(monkeypatch, line):
    target, expected = CALLS[line]
    module, name = target.rsplit(".", 1)
    function = getattr(__import__(f"crossmodal.{module}", fromlist=[name]), name)
    received = []

    def run(*given, **named):
        received.extend(signature(function).bind(*given, **named).arguments.values())

    monkeypatch.setattr(f"crossmodal.{target}", run)
    result = invoke(*line)
    assert (result.exit_code, result.output) == (0, "")
    assert received == expected


def test_check_prints_fine_or_error(monkeypatch, tmp_path, capsys):
    path = tmp_path / "params.yaml"
    path.write_text("suite: demo\n")
    assert main(monkeypatch, "check", "--params", str(path)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"error: {path}: suites: ")
    fine = SimpleNamespace(broken={}, features={})
    monkeypatch.setattr("crossmodal.commands.check.read", lambda *files: fine)
    assert main(monkeypatch, "check", "--params", str(path), "--configfile", "b.yaml") == 0
    assert capsys.readouterr().out == f"{path}, b.yaml: fine\n"


def fail_with(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("crossmodal.steps.download.download", fail)


def test_user_error_one_line(monkeypatch, capsys):
    fail_with(monkeypatch, CrossmodalError("a.mat: not the published file"))
    assert main(monkeypatch, "download", "wikipedia", "a.mat") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: a.mat: not the published file\n"


def test_program_error_keeps_traceback(monkeypatch):
    fail_with(monkeypatch, ZeroDivisionError())
    monkeypatch.setattr(sys, "argv", ["crossmodal", "download", "wikipedia", "a.mat"])
    with pytest.raises(ZeroDivisionError):
        cli.main()


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
def test_system_error_with_advice(monkeypatch, capsys, error, advice):
    fail_with(monkeypatch, error)
    assert main(monkeypatch, "download", "wikipedia", "a.mat") == 1
    message = capsys.readouterr().err
    assert advice in message
    assert message.endswith("run the same command again\n")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        *((text, "SPEC: Invalid JSON") for text in ("", "{", "cca")),
        ("{}", "SPEC.plugin: Field required"),
        ('{"plugin": 3, "options": {}}', "SPEC.plugin: Input should be a valid string"),
        ('{"plugin": "cca", "options": {}, "a": 1}', "SPEC.a: Extra inputs are not permitted"),
    ],
)
def test_wrong_spec_refused(monkeypatch, capsys, spec, message):
    assert main(monkeypatch, "prepare", spec, "out", "--raw", "raw") == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_module_fails_without_traceback(tmp_path):
    command = [sys.executable, "-m", "crossmodal", "download", "wikpedia", "a.mat"]
    ended = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
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
from crossmodal.steps import download as step

def download(dataset, output):
    with files.replacing(output) as temporary:
        print("started", flush=True)
        time.sleep(60)

step.download = download
sys.argv = ["crossmodal", "download", "wikipedia", "a.mat"]
cli.main()
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_interrupt_leaves_no_temporary_files(tmp_path, end):
    command = [sys.executable, "-c", UNFINISHED]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"started\n"
        process.send_signal(end)
    assert process.returncode > 0
    assert list(tmp_path.iterdir()) == []
