import os

import pytest

from crossmodal.training.launcher import TORCHRUN, starter

JOB = {"SLURM_JOB_ID": "31234", "SLURM_JOB_NODELIST": "node[3-4]"}


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Let a stub of scontrol name the nodes of a list."""
    program = tmp_path / "scontrol"
    program.write_text('#!/bin/sh\n[ "$*" = "show hostnames node[3-4]" ] && echo node3 node4\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.parametrize("environment", [{}, JOB | {"SLURM_JOB_NUM_NODES": "1"}])
def test_processes_of_one_machine_need_no_slurm(environment):
    assert starter(4, environment) == [*TORCHRUN, "--standalone", "--nproc-per-node=4"]


def test_each_node_starts_its_share_and_meets_at_the_first(slurm):
    command = starter(6, JOB | {"SLURM_JOB_NUM_NODES": "2"})
    assert command[:5] == ["srun", "--overlap", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1"]
    assert command[5:8] == [*TORCHRUN]
    assert {"--nnodes=2", "--nproc-per-node=3", "--rdzv-id=31234"} <= {*command}
    assert command[-1] == "--rdzv-endpoint=node3:29634"


def test_processes_that_nodes_cannot_share_are_refused(slurm):
    with pytest.raises(SystemExit, match="gpus: is 3, but the job has 2 nodes"):
        starter(3, JOB | {"SLURM_JOB_NUM_NODES": "2"})
