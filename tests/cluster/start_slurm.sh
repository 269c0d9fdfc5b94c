#!/usr/bin/env bash
# Starts a Slurm of one node, this machine, with two partitions and two pretended GPUs.
# For root on Debian or Ubuntu, with or without systemd; where a Slurm answers, it is left alone.
set -euo pipefail

if sinfo >/dev/null 2>&1; then
  echo "Slurm is running already"
  exit 0
fi
PACKAGES=(slurmctld slurmd slurm-client munge)
if ! dpkg --status "${PACKAGES[@]}" >/dev/null 2>&1; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${PACKAGES[@]}"
fi

MARK="# Written by crossmodal's tests/cluster/start_slurm.sh"
CONF=/etc/slurm/slurm.conf # jobs look nowhere else
if [ -e "$CONF" ] && ! grep -qF "$MARK" "$CONF"; then
  echo "error: $CONF belongs to another Slurm that does not answer; start that one" >&2
  exit 1
fi
HOST="$(hostname -s)"
MEMORY_MB="$(awk '/^MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)"

cat >"$CONF" <<CONF
$MARK
ClusterName=crossmodal
SlurmctldHost=$HOST(127.0.0.1)
SlurmUser=root
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
GresTypes=gpu
MinJobAge=86400
NodeName=$HOST NodeAddr=127.0.0.1 CPUs=$(getconf _NPROCESSORS_ONLN) RealMemory=$MEMORY_MB Gres=gpu:2
PartitionName=cpu Nodes=$HOST Default=YES
PartitionName=gpu Nodes=$HOST
CONF
# a GPU must be a device file
cat >/etc/slurm/gres.conf <<GRES
$MARK
Name=gpu File=/dev/null
Name=gpu File=/dev/zero
GRES

if ! munge -n >/dev/null 2>&1; then
  install -d -o munge -g munge -m 755 /run/munge
  runuser -u munge -- munged
fi
slurmctld -c # without the jobs of an earlier start
slurmd
for _ in $(seq 30); do
  if [ "$(sinfo --noheader --format %t 2>/dev/null | sort -u)" = idle ]; then
    exec sinfo --format "%P %D %c %m %G %t"
  fi
  sleep 1
done
echo "error: no idle node after 30 s:" >&2
sinfo >&2 || true
tail -n 20 /var/log/slurm/slurmctld.log /var/log/slurm/slurmd.log >&2
exit 1
