"""A workflow that is stopped, and one that is started twice."""

import os
import signal
import time

from tests.workflow.project import SNAKEMAKE, kill_when, metrics


def test_a_run_killed_in_extraction_and_in_training_resumes(fresh, finished):
    parts = ".checkpoints/features/scenes/activations.h5.work"
    kill_when(fresh, lambda folder: len(list((folder / parts).rglob("*.npy"))) >= 1, *SNAKEMAKE)
    assert not (fresh.folder / "features/scenes/activations.h5").exists()
    checkpoints = ".checkpoints/models/sam"
    kill_when(
        fresh, lambda folder: any((folder / checkpoints).rglob("snapshot.safetensors")), *SNAKEMAKE
    )
    assert (fresh.folder / "features/scenes/activations.h5").exists()
    output = fresh.run(*metrics(finished))
    assert "rule prepare:" not in output
    assert "rule extract:" not in output
    assert metrics(fresh) == metrics(finished)
    curve = "models/sam/seed0/curve.csv"
    assert fresh.read(curve) == finished.read(curve)


def test_a_second_snakemake_is_kept_out(fresh):
    first = fresh.start(*SNAKEMAKE)
    locks = fresh.folder / ".snakemake/locks"
    while not any(locks.glob("*")):
        assert first.poll() is None, first.communicate()[0]
        time.sleep(0.01)
    output = fresh.run(fails=True)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert "LockException" in output
