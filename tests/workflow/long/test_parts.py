"""Features that several jobs extract."""

import re
import shutil
from collections import Counter

from tests.workflow.project import SNAKEMAKE, jobs_run, kill_when

TARGETS = ("features/scenes/activations.h5", "features/scenes/bow.h5")
PARTS = "features/scenes/activations.parts"
PART = re.compile(rf"^    output: {PARTS}/(\d-of-2\.zip)$", re.MULTILINE)


def names(folder, pattern):
    return [path.name.removesuffix(".work") for path in folder.glob(pattern)]


def set_jobs(project, **jobs):
    params = project.params()
    for feature, number in jobs.items():
        params["features"][feature]["jobs"] = number
    project.write_params(params)


def extracted(project):
    return {name: (project.folder / name).read_bytes() for name in TARGETS}


def test_a_killed_part_alone_runs_again_to_the_bytes_of_one_job(fresh):
    set_jobs(fresh, activations=2, bow=3)
    kill_when(
        fresh,
        lambda folder: (
            len(names(folder, f"{PARTS}/*.zip")) == 1
            and len(names(folder, f".checkpoints/{PARTS}/*.work")) == 1
        ),
        *(*SNAKEMAKE, "--", TARGETS[0]),
    )
    unfinished = names(fresh.folder, f".checkpoints/{PARTS}/*.work")
    assert not (fresh.folder / TARGETS[0]).exists()
    output = fresh.run(TARGETS[0])
    assert PART.findall(output) == unfinished
    assert jobs_run(output) == Counter(extract_part=1, join_parts=1)
    assert jobs_run(fresh.run(TARGETS[1])) == Counter(extract_part=3, join_parts=1)
    assert not list((fresh.folder / "features").rglob("*.zip"))
    assert "Nothing to be done" in fresh.run(*TARGETS)
    shutil.rmtree(fresh.folder / ".snakemake")  # as in a clone after `dvc pull`
    assert "Nothing to be done" in fresh.run(*TARGETS)
    in_parts = extracted(fresh)
    set_jobs(fresh, activations=1, bow=1)
    assert jobs_run(fresh.run(*TARGETS)) == Counter(extract=2)
    assert extracted(fresh) == in_parts
