"""README's three starts with data of one's own, each from its first line to its last."""

import csv
import io
import re

import pytest

from tests.project_params import CONTENT
from tests.starts import (
    ARRAYS,
    FOLDER,
    HUGGING_FACE,
    steps,
    write_arrays,
    write_dogs,
    write_holiday,
)

STARTS = {
    "holiday": (FOLDER, write_holiday, {"cca", "sam"}),
    "clip": (ARRAYS, write_arrays, {"frozen", "cca", "ridge", "en", "sam"}),
    "dogs": (HUGGING_FACE, write_dogs, {"cca", "sam"}),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_of_readme_runs_to_its_end_as_printed(fresh, name):
    start, write, methods = STARTS[name]
    write(fresh.folder)
    fresh.write_params(CONTENT | {"seeds": 1})
    fresh.record()
    outputs = {}
    for command, printed in steps(start):
        outputs[command] = fresh.call("bash", "-c", command)
        for line in printed:
            assert line in outputs[command].splitlines()
    assert len(outputs) <= 10
    *_, last = outputs.values()
    assert "best items by" in last
    assert {path.parent.name for path in fresh.folder.glob(f"models/{name}_*/seed0")} == {
        f"{name}_{method}" for method in methods
    }
    rows = csv.DictReader(io.StringIO(fresh.read(f"results/tables/{name}.csv")))
    measured = {row["row"]: float(row["reproduced"]) for row in rows if row["metric"] == "mAP"}
    assert len(measured) >= len(methods)
    assert all(0 < value <= 1 for value in measured.values())
    (target,) = (re.search(r"snakemake (.*)", c)[1] for c in outputs if c.startswith("snakemake"))
    assert "Nothing to be done" in fresh.run(*target.split())
