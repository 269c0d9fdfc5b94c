"""Starts a fit as several processes: of this machine, or of all nodes of a Slurm job.

usage: python -m crossmodal.training.launcher PROCESSES ARGUMENT...
"""

import os
import subprocess
import sys
from collections.abc import Mapping

TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
FIRST_PORT, PORTS = 29400, 1000  # of the first node, by the number of the job


def main(processes: str, *arguments: str) -> None:
    """Become the program that starts the processes."""
    command = [*starter(int(processes), os.environ), *arguments]
    os.execvp(command[0], command)


def starter(processes: int, environment: Mapping[str, str]) -> list[str]:
    """Return the command before the arguments of a process.

    Args:
        processes: Number of all processes, equally many on each node.
        environment: With Slurm's variables inside of a job.

    Raises:
        SystemExit: If the nodes cannot have equally many.
    """
    nodes = int(environment.get("SLURM_JOB_NUM_NODES", 1))
    if nodes == 1:
        return [*TORCHRUN, "--standalone", f"--nproc-per-node={processes}"]
    if processes % nodes:
        raise SystemExit(
            f"error: gpus: is {processes}, but the job has {nodes} nodes; ask for a multiple"
        )
    hosts = subprocess.run(
        ["scontrol", "show", "hostnames", environment["SLURM_JOB_NODELIST"]],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    job = environment["SLURM_JOB_ID"]
    port = FIRST_PORT + int(job) % PORTS
    each = ["srun", "--overlap", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
    return [
        *each,
        *TORCHRUN,
        f"--nnodes={nodes}",
        f"--nproc-per-node={processes // nodes}",
        f"--rdzv-id={job}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={hosts.stdout.split()[0]}:{port}",
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
