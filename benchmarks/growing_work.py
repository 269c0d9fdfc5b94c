"""Work of which benchmarks/growth.py measures how its cost grows: synthetic data, and what is done.

All of it takes a size, and reads and writes the working folder.
"""

import csv
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from crossmodal.commands.examine import examine
from crossmodal.config.params import read
from crossmodal.data.media import PreparedMedia
from crossmodal.data.writer import Writer
from crossmodal.datasets._duplicates import Looks
from crossmodal.datasets.folder import Folder
from crossmodal.metrics.retrieval import Pool, evaluate
from crossmodal.search.neighbours import write_neighbours
from crossmodal.steps.extract import extract
from crossmodal.vectors import unit_rows
from crossmodal.workflow.specs import ExtractSpec

ROOT = Path(__file__).parents[1]
WIDTH, LATENT, QUERIES = 64, 32, 1_000
ENCODERS = {"encoders", "stamps"}  # suites that need an extra
TABLE = {"title", "metrics", "relevance"}  # what is copied
EXPERIMENT = {"dataset", "views", "relevance", "method", "options", "search", "seeds"}
OWN = Path("own")  # a folder of pictures, each with a text
WORDS = np.array([f"{a}{b}{c}" for a in "bdgklmnprst" for b in "aeiou" for c in "bdgklmnprst"])
CELLS = '''"""Means of grey, as a feature that costs less than the reading of a picture."""

import io

import numpy as np
from PIL import Image

from crossmodal.api import Feature


class Cells(Feature):
    """Grey of 8 by 8 cells, (n, 64)."""

    modality = "image"
    reads = ("items.csv", "media.zip")

    def extract(self, dataset, rows, sources):
        pictures = (Image.open(io.BytesIO(dataset.read(row.image))) for row in rows)
        cells = [np.asarray(each.convert("L").resize((8, 8)), np.float32) for each in pictures]
        return np.stack(cells).reshape(len(rows), 64)
'''


def make_suites(copies: int) -> None:
    """Write the project with the tables and experiments of all suites several times."""
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    for folder in ("experiments", "plugins"):
        shutil.copytree(ROOT / folder, folder)
    project = read(Path("params.yaml"))
    suites = [tables for name, tables in project.suites.items() if name not in ENCODERS]
    tables = {name: project.tables[name] for suite in suites for name in suite}
    own = {name for table in tables.values() for name in table.experiments}
    names = [*tables]
    for number in range(1, copies):
        content = {
            "tables": {
                f"copy{number}_{name}": {
                    **table.model_dump(include=TABLE, exclude_defaults=True),
                    "experiments": [copied(each, number) for each in table.experiments],
                }
                for name, table in tables.items()
            },
            "experiments": {
                copied(name, number): project.experiments[name].model_dump(include=EXPERIMENT)
                for name in own
            },
        }
        Path(f"experiments/copy{number}.yaml").write_text(yaml.safe_dump(content))
        names += content["tables"]
    Path("tables.txt").write_text("\n".join(f"results/tables/{name}.md" for name in names))
    shutil.rmtree(".snakemake", ignore_errors=True)  # what the check of params.yaml keeps


def copied(name: str, number: int) -> str:
    """Return the name of an experiment's copy."""
    return f"copy{number}_{name.replace('-', '_')}"


def call(*command: str) -> None:
    """Run a module of Python."""
    subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)


def dry_run(_: int) -> None:
    tables = Path("tables.txt").read_text().split()
    options = ("--snakefile", str(ROOT / "Snakefile"), "--dry-run", "--quiet", "all")
    call("snakemake", *tables, *options)


def check(_: int) -> None:
    call("crossmodal", "check")


def sentences(count: int) -> Iterator[str]:
    """Yield sentences of eight words, of which the n-th is as frequent as 1/n."""
    ranks = np.random.default_rng(0).zipf(1.3, (count, 8)) % len(WORDS)
    yield from map(" ".join, WORDS[ranks])


def make_folder(count: int) -> None:
    """Write pictures of noise, each with a text of the same name."""
    OWN.mkdir()
    rng = np.random.default_rng(0)
    for number, text in enumerate(sentences(count)):
        cells = rng.integers(256, size=(9, 12, 3), dtype=np.uint8)
        Image.fromarray(cells).resize((64, 48)).save(OWN / f"{number:07}.jpg")
        (OWN / f"{number:07}.txt").write_text(text)


def make_table(count: int) -> None:
    """Write the same with a CSV."""
    make_folder(count)
    with open(OWN / "items.csv", "w", newline="", encoding="utf-8") as stream:
        rows = ((f"{n:07}", f"{n:07}.jpg", text) for n, text in enumerate(sentences(count)))
        csv.writer(stream).writerows([("id", "image", "text"), *rows])


def prepare(_: int) -> None:
    shares = {"validation": 0.1, "test": 0.2, "seed": 0, "duplicates": "refuse"}
    with Writer(Path("prepared")) as out:
        Folder(csv=str(OWN / "items.csv"), **shares).prepare(Path(), out)


def make_prepared(count: int) -> None:
    make_table(count)
    prepare(count)


def check_prepared(_: int) -> None:
    examine(PreparedMedia(Path("prepared")), None)


def extract_bow(_: int) -> None:
    options = {"size": 1000, "weighting": "tfidf", "unit": "item"}
    spec = ExtractSpec(plugin="bow", options=options)
    extract(spec, Path("bow.h5"), Path("prepared"), Path(), Path())


def make_captions(count: int) -> None:
    """Write prepared items without pictures."""
    with Writer(Path("prepared")) as out:
        for number, text in enumerate(sentences(count)):
            out.item(f"{number:07}", "test" if number % 5 == 0 else "train")
            out.caption(f"{number:07}#0", f"{number:07}", text)


def make_looks(count: int) -> None:
    """Write descriptors of pictures of noise, of which one in a hundred is a copy of another."""
    cells = np.random.default_rng(0).integers(256, size=(count, 17, 17)).astype(np.float32)
    right, down = np.diff(cells, axis=2)[:, :16], np.diff(cells, axis=1)[:, :, :16]
    colours = np.zeros((count, 128), np.float32)
    rows = np.hstack([right.reshape(count, -1), down.reshape(count, -1), colours])
    rows[count - count // 100 :] = rows[: count // 100]
    np.save("rows.npy", rows)


def find_duplicates(count: int) -> None:
    assert sum(1 for _ in Looks(np.load("rows.npy")).pairs()) == count // 100


def make_embeddings(count: int) -> None:
    """Write unit rows near a space of few dimensions, as in a model."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((count, LATENT), np.float32)
    rows = points @ rng.standard_normal((LATENT, WIDTH), np.float32)
    np.save("rows.npy", unit_rows(rows + rng.standard_normal(rows.shape, np.float32) / 10))


def evaluate_some(_: int) -> None:
    rows = np.load("rows.npy")
    evaluate(Pool(rows[:QUERIES], np.arange(QUERIES)), Pool(rows, np.arange(len(rows))))


def evaluate_all(_: int) -> None:
    rows = np.load("rows.npy")
    evaluate(*[Pool(rows, np.arange(len(rows)))] * 2)


def index(_: int) -> None:
    write_neighbours(np.load("rows.npy"), Path("cells.faiss"), threads=1)


def from_folder_to_table(_: int) -> None:
    """From a folder to a table, by commands, with a feature that costs little."""
    call("crossmodal", "init", str(OWN))
    plugin = Path("plugins/features/cells.py")
    plugin.parent.mkdir(parents=True)
    plugin.write_text(CELLS)
    overlay = yaml.safe_load(Path("own.yaml").read_text())
    overlay["features"] = {"cells": {}}
    overlay["experiments"]["own"]["views"] = {"image": "cells", "text": "bow_item"}
    Path("own.yaml").write_text(yaml.safe_dump(overlay))
    call("crossmodal", "run", "results/tables/own.md", "--cores", "2", "--quiet", "all")
