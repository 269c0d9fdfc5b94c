"""Published files that were removed after preparing are not missed until they are needed again."""

import numpy as np
import pytest

from tests.datasets import layouts
from tests.workflow.project import PARAMS, jobs_run

LAYOUT = layouts.every()["wikipedia"]


@pytest.fixture
def project(fresh, tmp_path, monkeypatch):
    """A project with a small dataset of published files, which a mirror has."""
    code = fresh.folder / "src/crossmodal/datasets/small_wikipedia.py"
    code.write_text(LAYOUT.SMALL)
    mirror = tmp_path / "mirror" / "small_wikipedia"
    mirror.mkdir(parents=True)
    LAYOUT.make(mirror, np.random.default_rng(0))
    monkeypatch.setenv("CROSSMODAL_MIRROR", str(mirror.parent))
    dataset = LAYOUT.TABLE["dataset"]
    cca = PARAMS["experiments"]["cca"] | {"dataset": dataset, "views": LAYOUT.TABLE["views"]}
    fresh.write_params(
        PARAMS
        | {
            "tables": {"small": PARAMS["tables"]["small"] | {"experiments": ["cca"]}},
            "experiments": {"cca": cca},
            "datasets": {dataset: {"plugin": "small_wikipedia", **LAYOUT.DATASETS[dataset]}},
            "features": {
                name: {"plugin": "published", "matrix": name, "modality": modality}
                for modality, name in LAYOUT.TABLE["views"].items()
            },
            "methods": {"cca": {"dims": 3, "ridge": 0.1, "power": 0.0}},
        }
    )
    return fresh


def test_only_what_needs_the_files_brings_them_back(project):
    raw = project.folder / "data/raw/small_wikipedia"
    project.run("prepared")
    names = sorted(path.name for path in raw.iterdir() if not path.name.startswith("."))
    command = ("env", "PYTHONPATH=src", "crossmodal")  # the project's own, with its dataset
    printed = project.call(*command, "clean", "raw", LAYOUT.TABLE["dataset"])
    assert "stays prepared" in printed
    assert [path for path in raw.iterdir() if path.name in names] == []
    ran = jobs_run(project.run("trained"))
    assert {"extract", "train"} <= set(ran)
    assert not {"download", "prepare"} & set(ran)
    assert not jobs_run(project.run("acquired", "prepared", "trained"))
    ran = jobs_run(project.run("--forcerun", "prepare", "--", "prepared"))
    assert ran["download"] == len(names)
    assert ran["prepare"] == 1
