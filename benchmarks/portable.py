"""Cost of `portable: true` on this processor, and whether other processors compute the same.

Each method is fitted to the same synthetic items: with all vector instructions of this processor,
then with those of `portable` alone. The ratio is of seconds of the processor; `digits` says whether
the embeddings are the same, and `digest` is that of the portable ones, to compare with another
machine's, which docs/workflow.md has. Where this processor lets programs see another one, the
portable fits are repeated as Intel's Haswell and as AMD's Zen 2, and compared; see
other_processor.c, which takes a C compiler.
Run: python benchmarks/portable.py
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import torch

from crossmodal.config import params, plugins
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.learning.method import Run
from crossmodal.repeatability import PORTABLE, VARIABLES

ITEMS, IMAGE, WORDS, CATEGORIES, ROUNDS = 200, 512, 300, 10, 3
OPTIONS = {
    "sh": {"dims": 64, "word_dims": 64, "epochs": 2},
    "sam": {"epochs": 3},
    "cca": {"dims": 16},
    "fast_cmolrs": {"triplets": 1000},
}


def main():
    """Fit the methods, or one of them in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fit", metavar="ENTRY", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        print(json.dumps(fit(**json.loads(arguments.fit))))
        return
    presets = params.read(Path("params.yaml"))
    entries = {name: presets.plugin("methods", name) for name in OPTIONS}
    with tempfile.TemporaryDirectory() as folder:
        compare(entries, other_processors(Path(folder)))


def other_processors(folder):
    """Variables by which a process sees another processor, by its name; none where it cannot."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists() or " cpuid_fault " not in cpuinfo.read_text():
        print("this processor cannot let programs see another one\n")
        return {}
    library = folder / "other_processor.so"
    source = Path(__file__).with_name("other_processor.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    names = {"Haswell": "Intel", "Zen 2": "AMD"}
    return {name: {"LD_PRELOAD": str(library), "PROCESSOR": names[name]} for name in names}


def compare(entries, others):
    """Fit all methods under each condition, and print a row of a table for each method."""
    instructions = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    print(f"{instructions}, PyTorch {torch.__version__}\n")
    print(
        "| method | seconds | portable | ratio | digits | digest |",
        *(f"{name} |" for name in others),
    )
    print("| --- | ---: | ---: | ---: | --- | --- |" + " --- |" * len(others))
    for method, entry in entries.items():
        entry["options"] |= OPTIONS[method]
        native, portable = zip(*(pair(entry) for _ in range(ROUNDS)), strict=True)
        before, after = (min(seconds for seconds, _ in runs) for runs in (native, portable))
        digest = portable[0][1]
        cells = [f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}"]
        cells += [same(native[0][1], digest), digest[:12]]
        cells += [same(run(entry, PORTABLE | seen)[1], digest) for seen in others.values()]
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


def pair(entry):
    """Seconds and digest of a fit without and with `portable`, one after the other."""
    return run(entry, {}), run(entry, PORTABLE)


def run(entry, variables):
    """Fit in a process of its own, since libraries read the variables when they are loaded."""
    command = [sys.executable, __file__, "--fit", json.dumps(entry)]
    environment = os.environ | dict.fromkeys(VARIABLES, "1") | variables
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output)


def fit(plugin, options):
    """Seconds of the processor of a fit, and a digest of its embeddings."""
    model = plugins.make("methods", plugin, options, plugin)
    captions = plugin == "multimodal_embedding"
    train, validation = make_split(ITEMS, captions, 0), make_split(ITEMS // 4, captions, 1)
    start = process_time()
    model.fit(train, validation, Run(seed=0))
    seconds = process_time() - start
    digest = hashlib.sha256()
    for modality, view in validation.views.items():
        digest.update(np.ascontiguousarray(model.embed(modality, view)).tobytes())
    return seconds, digest.hexdigest()


def make_split(count, captions, seed):
    """Items of ten categories, whose texts are captions or bags of words."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(count) % CATEGORIES
    images = rng.standard_normal((count, IMAGE), np.float32) + np.eye(CATEGORIES, IMAGE)[kinds]
    if captions:
        lengths = rng.integers(5, 15, count)
        texts = Ragged.concatenate([rng.integers(4, WORDS, length) for length in lengths])
    else:
        texts = rng.poisson(0.1 + np.eye(CATEGORIES, WORDS)[kinds]).astype(np.float32)
    ids, meta = list(range(count)), {"vocabulary": range(WORDS)}
    image, text = (View(rows, np.arange(count), ids, meta) for rows in (images, texts))
    return Split(ids, np.eye(CATEGORIES, dtype=bool)[kinds], {"image": image, "text": text})


def same(first, second):
    """Whether two digests are equal, in a word."""
    return "same" if first == second else "other"


if __name__ == "__main__":
    main()
