from pathlib import Path

import pytest

from crossmodal.config import workflow_files
from crossmodal.config.params import CHECKED, read

ROOT = Path(__file__).parents[2]


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_checkout_has_the_files_at_its_top():
    assert workflow_files.folder() == ROOT


def test_params_of_the_working_folder_come_first(empty):
    assert workflow_files.params_file() == ROOT / "params.yaml"
    (empty / "params.yaml").touch()
    assert workflow_files.params_file() == Path("params.yaml")


def test_an_installed_package_has_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(workflow_files, "CHECKOUT", tmp_path)
    assert workflow_files.folder() == workflow_files.PACKAGE / "workflow_files"


def test_a_folder_without_params_is_a_project(empty):
    assert workflow_files.project_of(workflow_files.params_file()) == Path()
    assert workflow_files.project_of(Path("there/params.yaml")) == Path("there")
    read(workflow_files.params_file())
    assert (empty / CHECKED).exists()


def test_paths_inside_of_the_working_folder_are_relative(empty):
    assert workflow_files.seen(empty / "src") == "src"
    assert workflow_files.seen(ROOT / "src") == str(ROOT / "src")


def test_messages_name_the_program_that_is_there(empty):
    assert workflow_files.program() == "crossmodal run"
    (empty / "Snakefile").touch()
    assert workflow_files.program() == "snakemake"
