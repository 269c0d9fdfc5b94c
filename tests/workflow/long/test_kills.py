"""A workflow that is stopped, and one that is started twice."""

import os
import signal
import time

from crossmodal.io.locks import lock
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


def test_a_run_keeps_out_runs_alone_and_a_dry_run_nobody(fresh):
    running = fresh.folder / ".snakemake/running"
    with lock(running, waiting=None):
        assert "LockException" in fresh.run("prepared", fails=True)
        fresh.run("--dry-run", "prepared")
        fresh.run("--nolock", "prepared")
    dry = fresh.start(*SNAKEMAKE, "--dry-run", "prepared")
    assert any("Building DAG" in line for line in dry.stdout)
    with lock(running, waiting=None):
        dry.communicate()


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
