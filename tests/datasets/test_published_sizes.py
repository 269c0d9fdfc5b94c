"""The declared sizes are those that the papers print."""

import csv
from pathlib import Path

import pytest

from tests.project_params import PARAMS

ROOT = Path(__file__).parents[2]
# entry of params.yaml -> paper, and what it calls the dataset
PAPERS = {
    "wikipedia": ("CMOLRS", "WIKI"),
    "wikipedia_462": ("SAM", "Wikipedia"),
    "wikipedia_media": ("SAM", "Wikipedia"),
    "pascal_sentences": ("SAM", "Pascal Sentences"),
    "nuswide_10k": ("SAM", "NUS-WIDE-10k"),
    "nuswide_top10": ("SAM", "NUS-WIDE"),
    "nuswide_81": ("CMOLRS", "NUS-WIDE"),
    "voc2007": ("CMOLRS", "PASCAL VOC 2007"),
    "mirflickr": ("CMOLRS", "MIRFLICKR"),
}


def printed(paper, dataset):
    with (ROOT / "src/crossmodal/published/datasets.csv").open() as stream:
        return {
            row["split"]: int(row["images"])
            for row in csv.DictReader(stream)
            if (row["paper"], row["dataset"]) == (paper, dataset) and row["images"]
        }


@pytest.mark.parametrize("entry", PAPERS)
def test_sizes_are_those_of_the_paper(entry):
    found = PARAMS.dataset_of(entry).counts()
    expected = printed(*PAPERS[entry])
    if "validation" not in expected:  # taken out of the training part
        found["train"] += found["validation"]
    splits = found.keys() & expected.keys()
    assert len(splits) >= 2
    assert {s: found[s] for s in splits} == {s: expected[s] for s in splits}
