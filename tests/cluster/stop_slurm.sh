#!/usr/bin/env bash
# Ends the Slurm that start_slurm.sh started, and its jobs.
set -euo pipefail

if ! grep -qsF "tests/cluster/start_slurm.sh" /etc/slurm/slurm.conf; then
  echo "error: this machine's Slurm was not started by start_slurm.sh" >&2
  exit 1
fi
scancel --user root 2>/dev/null || true
for daemon in slurmd slurmctld munge/munged; do
  if [ -e "/run/$daemon.pid" ]; then
    PID="$(cat "/run/$daemon.pid")"
    kill "$PID"
    while kill -0 "$PID" 2>/dev/null; do sleep 0.1; done
  fi
done
