import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.commands import run
from crossmodal.config.workflow_files import folder
from crossmodal.errors import CrossmodalError
from tests.cli.test_commands import invoke

TABLE = "results/tables/holiday.md"


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Arguments of the Snakemake that a command line would become, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    calls = []
    monkeypatch.setattr(os, "execv", lambda program, command: calls.append(command))

    def called(*arguments):
        invoke("run", *arguments)
        return calls.pop()

    return called


@pytest.mark.parametrize("arguments", [(TABLE, "--cores", "8"), ("--cores", "8", TABLE, "-n")])
def test_arguments_reach_snakemake_in_their_order(called, arguments):
    start = [sys.executable, "-m", "snakemake", "--snakefile", str(folder() / "Snakefile")]
    assert called(*arguments) == [*start, *arguments]


def test_an_overlay_of_the_table_is_laid_over(called):
    Path("holiday.yaml").touch()
    assert called(TABLE, "--cores", "8")[-2:] == ["--configfile", "holiday.yaml"]
    assert called(TABLE, "--configfile", "other.yaml")[-1] == "other.yaml"
    assert "--configfile" not in called("results/tables/other.md")


def test_jobs_find_the_python_of_the_environment(called):
    called(TABLE)
    assert os.environ["PATH"].startswith(f"{Path(sys.executable).parent}{os.pathsep}")


def test_without_snakemake_it_says_what_to_install(called, monkeypatch):
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    with pytest.raises(CrossmodalError, match=r"pip install \"crossmodal-retrieval\[workflow\]\""):
        run.run([TABLE])


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An overlay in an empty folder, beside a file of another program."""
    monkeypatch.chdir(tmp_path)
    Path("holiday.yaml").write_text(
        "experiments:\n"
        "  holiday: {dataset: scenes, views: {image: lite0_fc7, text: bow_item},\n"
        "    relevance: labels, rows: {cca: {}}}\n"
        "tables:\n  holiday: {title: Mine, experiments: holiday, metrics: mAP}\n"
    )
    Path("compose.yaml").write_text("services: []\n")
    os.utime("holiday.yaml", (1, 1))
    splits = Path("data/prepared/scenes/splits.csv")
    splits.parent.mkdir(parents=True)
    splits.write_text("item,split\nalps 1,train\nalps 3,test\n")


@pytest.mark.parametrize("code", [0, 1])
def test_own_table_without_arguments(own, monkeypatch, capsys, code):
    def make(command, check):
        assert command[5:] == [
            TABLE,
            "results/examples/holiday_cca.html",
            *("--cores", "all", "--configfile", "holiday.yaml"),
        ]
        path = Path(TABLE)
        path.parent.mkdir(parents=True)
        path.write_text("## Mine\n")
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(run.subprocess, "run", make)
    if code:
        with pytest.raises(SystemExit, match="1"):
            run.run([])
    else:
        run.run([])
    printed = capsys.readouterr().out
    assert ("## Mine" in printed) != code
    assert ("crossmodal serve models/holiday_cca/seed0" in printed) != code
    assert ("crossmodal search models/holiday_cca/seed0 --item 'alps 3' --conf" in printed) != code


def test_without_own_table_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CrossmodalError, match=r"run `crossmodal init FOLDER` first"):
        run.run([])
