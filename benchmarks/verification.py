"""What it costs that each job verifies the files it reads, as a share of the job.

Features of 5,000 items are read by CCA, one of the lightest methods. Processor time, that of a
job with its start.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from crossmodal.data.feature_file import write_features
from crossmodal.data.writer import Writer
from crossmodal.io.files import sha256

ITEMS, WIDTHS = 5_000, {"image": 4_096, "text": 1_000}
METHOD = {"plugin": "cca", "options": {"dims": 10, "ridge": 0.1, "power": 0.0}, "search": {}}
DATA = {"views": {modality: modality for modality in WIDTHS}, "relevance": "category"}


def plant(folder, features):
    """Random features of items with ten categories."""
    rng = np.random.default_rng(0)
    names = [f"item{number}" for number in range(ITEMS)]
    with Writer(folder) as out:
        for number, name in enumerate(names):
            split = {8: "validation", 9: "test"}.get(number // 10 % 10, "train")
            out.item(name, split, f"category{number % 10}")
            out.caption(f"{name}#0", name, "words")
    for modality, width in WIDTHS.items():
        rows = rng.standard_normal((ITEMS, width)).astype(np.float32)
        write_features(features / f"{modality}.h5", names, names, [rows], {})


def run(*arguments):
    """Processor time of a job, with its start."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "crossmodal", *map(str, arguments)], check=True)
    after = os.times()
    return after.children_user + after.children_system - before[2] - before[3]


def hashing(files):
    """Processor time of hashing some files."""
    start = process_time()
    for path in files:
        sha256(path)
    return process_time() - start


def main():
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        folder, features = Path("data/prepared/toy"), Path("features/toy")
        plant(folder, features)
        model, embeddings = Path("models/toy/model.safetensors"), Path("embeddings/toy.h5")
        views = sorted(features.glob("*.h5"))
        read = [folder / "items.csv", folder / "splits.csv", *views]
        where = ["--dataset", folder, "--features", features]
        fit, embedding = (json.dumps(part) for part in (METHOD | DATA, DATA))
        jobs = {
            "train": ([fit, model, *where, "--weights", "none", "--seed", 0], read),
            "embed": (
                [embedding, embeddings, *where, "--model", model],
                [*read, model, model.with_name("model.json")],
            ),
            "evaluate_run": (
                ["{}", "runs.json", "--embeddings", embeddings, "--seed", 0],
                [embeddings],
            ),
        }
        for name, (arguments, files) in jobs.items():
            whole = run(name, *arguments)
            size = sum(path.stat().st_size for path in files) / 1e6
            share = hashing(files) / whole
            print(f"{name:10} {whole:6.2f} s  {size:6.1f} MB  verification {share:6.1%}")


if __name__ == "__main__":
    main()
