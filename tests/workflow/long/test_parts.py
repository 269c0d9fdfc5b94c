"""Features that several jobs extract."""

import re
import shutil
from collections import Counter

from tests.workflow.project import SNAKEMAKE, jobs_run, kill_when

TARGETS = ("features/scenes/activations.h5", "features/scenes/bow.h5")
PART = re.compile(r"^    output: features/scenes/(\w+\.parts/\d)-of-\d\.zip$", re.MULTILINE)


def set_jobs(project, **jobs):
    params = project.params()
    for feature, number in jobs.items():
        params["features"][feature]["jobs"] = number
    project.write_params(params)


def extracted(project):
    return {name: (project.folder / name).read_bytes() for name in TARGETS}


def test_a_killed_part_alone_runs_again_to_the_bytes_of_one_job(fresh):
    set_jobs(fresh, activations=2, bow=3)
    chunks = ".checkpoints/features/scenes/activations.parts/2-of-2.zip.work"
    other = "features/scenes/activations.parts/1-of-2.zip"
    kill_when(
        fresh,
        lambda folder: (folder / other).exists() and any((folder / chunks).rglob("*.npy")),
        *(*SNAKEMAKE, "--", TARGETS[0]),
    )
    assert not (fresh.folder / TARGETS[0]).exists()
    output = fresh.run(TARGETS[0])
    assert PART.findall(output) == ["activations.parts/2"]
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
