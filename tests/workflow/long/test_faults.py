"""One fault of each kind, as `benchmarks/faults.py` puts hundreds of them into jobs."""

import os
import subprocess
import sys

import pytest

from crossmodal.io.files import read_json
from tests.workflow.project import ROOT

STEPS = ("extract", "train", "embed", "evaluate")
FAULTS = [
    *(f"{fault}_{step}" for fault in ("kill", "full_disk", "read_only") for step in STEPS),
    *(f"power_cut_{step}" for step in STEPS),
    *("no_memory_embed", "twice_embed", "twice_evaluate"),
]
MOUNTED = ("full_disk", "read_only")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts disks as Linux does")
def test_faults_end_with_undisturbed_bytes(tmp_path):
    command = [sys.executable, "benchmarks/faults.py", "--times", "1", "--only", *FAULTS]
    ended = subprocess.run(
        [*command, "--state", str(tmp_path / "faults.json")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    counts = read_json(tmp_path / "faults.json")
    assert list(counts) == sorted(FAULTS)
    left_out = {name for name in counts if counts[name]["note"].startswith("left out")}
    assert all(name.startswith(MOUNTED) for name in left_out)  # for want of the right to mount
    assert {n: c for n, c in counts.items() if n not in left_out and c["note"]} == {}
    assert all(counts[f"twice_{step}"]["times"] == 1 for step in ("embed", "evaluate"))
