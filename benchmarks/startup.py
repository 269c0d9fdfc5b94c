"""What every call costs before it does anything: snakemake on all jobs, and each job's imports.

Peers in the same run: snakemake on an empty workflow, and importing PyTorch alone.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
REPEATS = 5
STEPS = {
    "prepare scenes": "crossmodal.steps.prepare, crossmodal.datasets.scenes",
    "extract bow": "crossmodal.steps.extract, crossmodal.features.bow",
    "extract activations": "crossmodal.steps.extract, crossmodal.features.activations",
    "train cca": "crossmodal.steps.train, crossmodal.methods.cca",
    "train cmolrs": "crossmodal.steps.train, crossmodal.methods.cmolrs",
    "train sam": "crossmodal.steps.train, crossmodal.methods.sam",
    "evaluate cca": "crossmodal.steps.evaluate, crossmodal.methods.cca",
    "tabulate": "crossmodal.steps.tabulate",
}


def seconds(command, folder):
    """Median wall time of a command, after one call that warms the caches."""
    times = []
    for _ in range(REPEATS + 1):
        start = perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        times.append(perf_counter() - start)
    return statistics.median(times[1:])


def main():
    snakemake = [Path(sys.executable).parent / "snakemake", "--dry-run", "--cores", "1"]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Snakefile").write_text("rule all:\n    shell: 'true'\n")
        peer = seconds(snakemake, folder)
    ours = seconds(snakemake, ROOT)
    print(f"{'no-op snakemake, whole suite':32} {ours:6.2f} s  {ours / peer:5.1f} x an empty one")
    torch = seconds([sys.executable, "-c", "import torch"], ROOT / "src")
    print(f"{'import torch':32} {torch:6.2f} s")
    for step, modules in STEPS.items():
        own = seconds([sys.executable, "-c", f"import {modules}"], ROOT / "src")
        print(f"{step:32} {own:6.2f} s  {own / torch:5.1f} x import torch")


if __name__ == "__main__":
    main()
