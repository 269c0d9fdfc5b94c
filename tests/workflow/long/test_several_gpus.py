"""Fits that torchrun starts, on processors."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from crossmodal.data.feature_file import Ragged, write_features
from tests.methods.test_multimodal_embedding import OPTIONS

BIN = Path(sys.executable).parent
TORCHRUN = (str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "2")
CROSSMODAL = ("-m", "crossmodal")
SPEC = {
    "plugin": "multimodal_embedding",
    "options": OPTIONS | {"epochs": 3},
    "search": {"margin": [0.1, 0.3]},
    "views": {"image": "pixels", "text": "tokens"},
    "relevance": "category",
    "code": "0123",
}
LAUNCHER = (sys.executable, "-m", "crossmodal.training.launcher", "2")
# two machines: network namespaces of one link, with names of their own
NODES = """
for i in 1 2; do
  ip netns add crossmodal$i
  mkdir -p /etc/netns/crossmodal$i
  printf '127.0.0.1 localhost\\n10.77.0.1 node1\\n10.77.0.2 node2\\n' \\
    > /etc/netns/crossmodal$i/hosts
done
ip link add cross1 netns crossmodal1 type veth peer name cross2 netns crossmodal2
for i in 1 2; do
  ip -n crossmodal$i address add 10.77.0.$i/24 dev cross$i
  ip -n crossmodal$i link set cross$i up
  ip -n crossmodal$i link set lo up
done
"""
GONE = "for i in 1 2; do ip netns delete crossmodal$i; rm -r /etc/netns/crossmodal$i; done"
SRUN = """#!/bin/sh
while case $1 in --*) true ;; *) false ;; esac; do shift; done
for i in 1 2; do
  ip netns exec crossmodal$i unshare --uts sh -c "hostname node$i; exec \\"\\$@\\"" sh "$@" &
  eval "process$i=$!"
done
wait $process1 && wait $process2
"""
FAILING = """
from crossmodal.cli import main
from crossmodal.errors import CrossmodalError
from crossmodal.training.processes import is_first
from crossmodal.methods.multimodal_embedding import MultimodalEmbedding

batches = MultimodalEmbedding.batches


def failing(method, epoch, rng):
    if epoch == 1 and not is_first():
        raise CrossmodalError("the second process fails")
    return batches(method, epoch, rng)


MultimodalEmbedding.batches = failing
main()
"""


@pytest.fixture
def train(planted):
    """Call the step with a fit's output and the command that starts it."""
    data = planted()
    rng = np.random.default_rng(0)
    captions = [caption.id for caption in data.dataset.captions]
    owners = [caption.item for caption in data.dataset.captions]
    words = Ragged.concatenate([rng.integers(4, 30, 5, dtype=np.int32) for _ in captions])
    meta = {"vocabulary": [str(word) for word in range(30)]}
    write_features(data.features / "tokens.h5", captions, owners, [words], meta)

    def call(output, *start, spec=SPEC, **variables):
        command = [*start, "train", json.dumps(spec)]
        command += [f"models/{output}/seed0/model.safetensors", "--seed", "0", "--weights", "w"]
        command += ["--dataset", data.folder, "--features", data.features, "--threads", "2"]
        # without the package's own settings of threads, as in a user's shell
        environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | variables
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    return call


def test_two_processes_write_the_model_of_one(train):
    for output, start in (("alone", (sys.executable,)), ("together", TORCHRUN)):
        done = train(output, *start, *CROSSMODAL)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("3/3") == 2  # one process reports on both candidates
    alone, together = (Path("models", output, "seed0") for output in ("alone", "together"))
    assert sorted(p.name for p in together.iterdir()) == sorted(p.name for p in alone.iterdir())
    expected = load_file(alone / "model.safetensors")
    for name, value in load_file(together / "model.safetensors").items():
        np.testing.assert_allclose(value, expected[name], atol=1e-5, err_msg=name)
    assert not list(Path(".checkpoints").rglob("*.safetensors"))


def test_a_process_that_fails_ends_all_with_its_message(train, tmp_path):
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    start = time.monotonic()
    done = train("failing", *TORCHRUN, str(script))
    assert done.returncode != 0
    assert "error: the second process fails" in done.stderr
    assert time.monotonic() - start < 60
    assert not Path("models/failing/seed0/model.safetensors").exists()
    assert list(Path(".checkpoints").rglob("snapshot.safetensors"))  # to resume from


@pytest.fixture
def nodes(tmp_path):
    """Start two nodes, and stubs of Slurm's commands; its variables in a job of both nodes."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("needs root, and iproute2, for network namespaces")
    for name, text in (("srun", SRUN), ("scontrol", "#!/bin/sh\necho node1 node2\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    subprocess.run(["sh", "-ec", NODES], check=True)
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "node[1-2]"}
    yield job | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", GONE])


def test_two_nodes_write_the_bytes_of_one(train, nodes):
    for output, job in (("one", {}), ("two", nodes)):
        done = train(output, *LAUNCHER, *CROSSMODAL, **job)
        assert done.returncode == 0, done.stderr
    one, two = (Path("models", name, "seed0/model.safetensors") for name in ("one", "two"))
    assert two.read_bytes() == one.read_bytes()
