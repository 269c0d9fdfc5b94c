"""From published files to tables, for every dataset that has a layout: all in one run."""

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.datasets import layouts
from tests.project_params import CONTENT
from tests.workflow.project import copied

ROOT = Path(__file__).parents[3]
LAYOUTS = layouts.every()
RUNS = [(name, layout.TABLE["method"]) for name, layout in LAYOUTS.items()]
METRIC = {"cca": "mAP", "sam": "mAP", "ridge": "rsum", "sh": "rsum"}
TABLES = sorted({*METRIC.values()})
DIRECTIONS = {"mAP": ["image-to-text", "text-to-image", "average"], "rsum": ["both"]}
SEQUENCES = {"sh": {"text": "tokens"}}  # views of methods that read them
# what differs from params.yaml, so that tiny datasets suffice
METHODS = {
    "cca": {"dims": 3, "ridge": 0.1},
    "sam": {"dims": 16, "hidden": 32, "epochs": 60, "batch": 50, "scaling": "zscore"},
    "ridge": {},
    "sh": {"dims": 32, "word_dims": 16, "epochs": 30, "batch": 32, "learning_rate": 0.005},
}
COLOUR = '''"""Mean colour of an image: what tells the classes of the layouts' photographs."""

import io

import numpy as np
from PIL import Image

from crossmodal.data.feature import Feature


class Colour(Feature):
    """Red, green and blue in [0, 1], float32 (n, 3)."""

    modality = "image"
    reads = ("items.csv", "media.zip")

    def extract(self, dataset, rows, sources):
        """Decode and average."""
        images = (Image.open(io.BytesIO(dataset.read(item.image))).convert("RGB") for item in rows)
        return np.float32([np.asarray(image).mean((0, 1)) / 255 for image in images])
'''


def params():
    """A table for each metric; features and methods are those of the project's params.yaml."""
    full = CONTENT
    tables = {name: layout.TABLE for name, layout in LAYOUTS.items()}
    return {
        "suite": "all",
        "suites": {"all": TABLES},
        "seeds": 1,
        "tables": {
            metric: {
                "title": metric,
                "experiments": [f"{n}_{method}" for n, method in RUNS if METRIC[method] == metric],
                "metrics": [metric],
            }
            for metric in TABLES
        },
        "figures": {},
        "experiments": {
            f"{name}_{method}": {
                "label": name,
                "method": method,
                "views": tables[name]["views"] | SEQUENCES.get(method, {}),
                **{key: tables[name][key] for key in ("dataset", "relevance")},
            }
            for name, method in RUNS
        },
        "datasets": {
            table["dataset"]: {
                "plugin": f"small_{name}",
                **LAYOUTS[name].DATASETS[table["dataset"]],
            }
            for name, table in tables.items()
        },
        "features": full["features"] | {"colour": {}},
        "methods": {m: full["methods"][m] | options for m, options in METHODS.items()},
    }


@pytest.fixture(scope="module")
def project(untouched, tmp_path_factory):
    """A project that has made all tables from a mirror of small archives."""
    project = copied(untouched.folder, tmp_path_factory.mktemp("datasets") / "project")
    code = project.folder / "src" / "crossmodal"
    (code / "features" / "colour.py").write_text(COLOUR)
    for name, layout in LAYOUTS.items():
        (code / "datasets" / f"small_{name}.py").write_text(layout.SMALL)
        mirror = project.folder / "mirror" / f"small_{name}"
        mirror.mkdir(parents=True)
        layout.make(mirror, np.random.default_rng(0))
    project.write_params(params())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSMODAL_MIRROR", str(project.folder / "mirror"))
        project.run(*(f"results/tables/{metric}.csv" for metric in TABLES))
    return project


@pytest.mark.parametrize(("name", "method"), RUNS)
def test_the_table_has_a_row_that_beats_chance(project, name, method):
    metric, directions = METRIC[method], DIRECTIONS[METRIC[method]]
    rows = csv.DictReader(io.StringIO(project.read(f"results/tables/{metric}.csv")))
    found = [SimpleNamespace(**row) for row in rows if row["row"] == name]
    assert sorted(row.direction for row in found) == sorted(directions)
    assert all(float(row.reproduced) > 0 for row in found)
    run = json.loads(project.read(f"results/runs/{name}_{method}/seed0.json"))
    reached, chance = (
        at[directions[-1]][metric] for at in (run["test"], run["controls"]["random"])
    )
    assert reached > 1.2 * chance
