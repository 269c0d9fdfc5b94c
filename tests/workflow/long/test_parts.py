"""Features that several jobs extract."""

import re
import shutil
from collections import Counter

from tests.workflow.project import SNAKEMAKE, jobs_run, kill_when

TARGETS = ("features/scenes/activations.h5", "features/scenes/bow.h5")
PARTS = "features/scenes/activations.parts"
PART = re.compile(rf"^    output: {PARTS}/(\d-of-2\.zip)$", re.MULTILINE)


def progress(folder):
    """Parts that are there, and others that were begun; one that is about to end is in neither."""
    there = {path.name for path in folder.glob(f"{PARTS}/*.zip")}
    begun = {path.stem for path in folder.glob(f".checkpoints/{PARTS}/*.work")}
    return sorted(there - begun), sorted(begun - there)


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
        lambda folder: [*map(len, progress(folder))] == [1, 1],
        *(*SNAKEMAKE, TARGETS[0]),
    )
    _, unfinished = progress(fresh.folder)
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
