"""Human speech and text as one's own data, with the project's own options."""

import csv
import os
import shutil
from pathlib import Path

import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.split import load_split
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.steps.extract import extract
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import ExtractSpec, PrepareSpec
from tests.project_params import PARAMS

VIEWS = {"text": "bow_item", "speech": "logmel_statistics"}
OPTIONS = {"csv": "digits/items.csv", "validation": 0.1, "test": 0.2, "seed": 0}
OPTIONS |= {"duplicates": "refuse"}


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A folder with the recordings of ten words, and a CSV of these."""
    folder = Path(os.environ.get("CROSSMODAL_MIRROR", "none")).resolve() / "spoken_digits"
    if not folder.is_dir():
        pytest.skip("CROSSMODAL_MIRROR has no spoken_digits")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder / "recordings", "digits/recordings")
    with (folder / "items.csv").open(encoding="utf-8") as stream:
        _, *rows = csv.reader(stream)
    with Path(OPTIONS["csv"]).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["id", "speech", "text", "labels"], *rows])


@pytest.mark.real
@pytest.mark.usefixtures("digits")
def test_cca_finds_spoken_words_by_text_and_back():
    prepare(PrepareSpec(plugin="folder", options=OPTIONS), Path("raw"), Path("data"))
    files = {modality: Path("features") / f"{name}.h5" for modality, name in VIEWS.items()}
    for name, path in zip(VIEWS.values(), files.values(), strict=True):
        extract(
            ExtractSpec(**PARAMS.plugin("features", name)),
            path,
            Path("data"),
            path.parent,
            Path("weights"),
        )
    train, validation, test = (
        load_split(Prepared(Path("data")), files, split, "category")
        for split in ("train", "validation", "test")
    )
    made = PARAMS.plugin("methods", "cca")
    method = plugins.make("methods", made["plugin"], made["options"], "cca")
    with pytest.warns(UserWarning, match="9 common directions"):
        method.fit(train, validation, Run(0))
    assert selection_score(method, test) >= 0.95
