"""README's three starts with data of one's own, each from its first line to its last."""

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from PIL import Image

import crossmodal
from crossmodal.commands.init import has_encoder
from tests.project_params import CONTENT
from tests.starts import (
    ARRAYS,
    FOLDER,
    HUGGING_FACE,
    README,
    steps,
    write_arrays,
    write_dogs,
    write_holiday,
)
from tests.workflow.project import Project, copied

STARTS = {
    "holiday": (FOLDER, write_holiday, {"cca", "sam"}),
    "clip": (ARRAYS, write_arrays, {"frozen", "cca", "ridge", "en", "sam"}),
    "dogs": (HUGGING_FACE, write_dogs, {"cca", "sam"}),
}
PAGE = (Path(__file__).parents[3] / "docs/extend.md").read_text()
HOLIDAY = re.compile(r"```yaml\n(datasets:\n  holiday:.*?)```", re.DOTALL)
LOADED = re.compile(r"`(crossmodal\.load\(.*?\))` embeds")
PICTURE = "holiday/photos/alps3.jpg"


class Start(NamedTuple):
    """A start that ran: its project, what each command printed, the arguments of snakemake."""

    name: str
    project: Project
    outputs: dict
    target: list


@pytest.fixture(scope="module")
def whole(untouched, tmp_path_factory):
    """A project with all that params.yaml has, which is checked; not to be changed."""
    project = copied(untouched.folder, tmp_path_factory.mktemp("whole") / "project")
    methods = {name: CONTENT["methods"][name] | {"epochs": 3} for name in ("sam", "en")}
    project.write_params(CONTENT | {"seeds": 1, "methods": CONTENT["methods"] | methods})
    project.run("--dry-run", "acquired")
    return project


@pytest.fixture(scope="module")
def start(request, whole, tmp_path_factory):
    text, write, _ = STARTS[request.param]
    project = copied(whole.folder, tmp_path_factory.mktemp(request.param) / "project")
    write(project.folder)
    project.record()
    outputs = {}
    for command, printed in steps(text):
        outputs[command] = project.call("bash", "-c", command)
        assert {*printed} <= {*outputs[command].splitlines()}
    (target,) = (re.search(r"snakemake (.*)", c)[1] for c in outputs if c.startswith("snakemake"))
    return Start(request.param, project, outputs, target.split())


def table(start):
    """Mean average precisions of the start's table by row."""
    rows = csv.DictReader(io.StringIO(start.project.read(f"results/tables/{start.name}.csv")))
    return {row["row"]: float(row["reproduced"]) for row in rows if row["metric"] == "mAP"}


@pytest.mark.parametrize("start", STARTS, indirect=True)
def test_a_start_of_readme_runs_to_its_end_as_printed(start):
    methods = STARTS[start.name][2]
    assert len(start.outputs) <= 10
    assert "best items by" in [*start.outputs.values()][-1]
    models = start.project.folder.glob(f"models/{start.name}_*/seed0")
    assert {path.parent.name for path in models} == {f"{start.name}_{m}" for m in methods}
    assert len(table(start)) >= len(methods)
    assert all(0 < value <= 1 for value in table(start).values())
    assert "Nothing to be done" in start.project.run(*start.target)


@pytest.mark.parametrize("start", ["holiday"], indirect=True)
def test_the_overlay_is_that_of_the_page(start):
    (holiday,) = HOLIDAY.findall(PAGE)
    texts = "sentence_item" if has_encoder() else "bow_item"  # README's are without the extra
    expected = yaml.safe_load(holiday.replace("bow_item", texts))
    assert yaml.safe_load(start.project.read("holiday.yaml")) == expected


@pytest.mark.parametrize("start", ["holiday"], indirect=True)
def test_files_of_ones_own_stay_out_of_git(start):
    assert "photos" not in start.project.call("git", "add", "--all", "--dry-run")


@pytest.mark.parametrize("start", ["holiday"], indirect=True)
def test_the_model_is_loaded_as_the_readme_says(start, tmp_path, monkeypatch):
    Image.new("RGB", (32, 32)).save(tmp_path / "new.jpg")
    monkeypatch.chdir(start.project.folder)
    model = eval(*LOADED.findall(README), {"crossmodal": crossmodal})
    images, texts = model.embed(images=[tmp_path / "new.jpg"]), model.embed(texts=["a red ball"])
    assert model.score(texts, images, direction=("text", "image")).shape == (1, 1)


@pytest.mark.parametrize("start", ["holiday"], indirect=True)
def test_pictures_that_change_or_are_missing_are_noticed(start):
    Image.new("RGB", (32, 32)).save(start.project.folder / PICTURE)
    assert "rule prepare:" in start.project.run(*start.target, "--dry-run")
    (start.project.folder / PICTURE).unlink()
    output = start.project.run(*start.target, fails=True)
    where = f"holiday/items.csv: row 4, column 'image': {PICTURE}: No such file"
    assert where in output
