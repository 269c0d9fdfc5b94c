import csv
from importlib.resources import files

import pytest

from crossmodal.config.external_numbers import external_numbers
from tests.project_params import PARAMS

TEXT = (files("crossmodal") / "published" / "external.csv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(TEXT.splitlines(), strict=True))


def test_each_number_is_a_recall_with_an_address():
    assert len(ROWS) == 42
    for row in ROWS:
        assert row["source"].startswith("https://")
        assert row["metric"] in ("R@1", "R@5", "R@10")
        assert 0 < float(row["value"]) <= 100


def test_no_number_is_there_twice():
    keys = [tuple(row[c] for c in ("system", "dataset", "direction", "metric")) for row in ROWS]
    assert len(set(keys)) == len(keys)


def test_recalls_grow_with_their_depth():
    for systems in external_numbers().values():
        for numbers in systems.values():
            for direction in {direction for direction, _ in numbers}:
                depths = [k for k in (1, 5, 10) if (direction, f"R@{k}") in numbers]
                values = [numbers[direction, f"R@{k}"].value for k in depths]
                assert values == sorted(values)


def test_a_note_says_where_a_number_is_from():
    number = external_numbers()["MSCOCO"]["CLIP ViT-B/32, zero-shot"]["image-to-text", "R@1"]
    assert number.value == 50.12
    assert number.note.startswith("on 5,000 test images, five times as many, https://github.com/")


@pytest.mark.parametrize(
    ("table", "dataset"),
    [
        ("fne_table2", "Flickr8K"),
        ("fne_table3", "Flickr30K"),
        ("fne_table4", "MSCOCO"),
        ("vase_table2", "Flickr8K speech"),
        ("vase_table3", "Places"),
        ("vase_table4", "Places"),
        ("flickr8k_relevance", None),
        ("vase_table6", None),
    ],
)
def test_tables_of_the_papers_show_those_of_their_dataset(table, dataset):
    assert PARAMS.tables[table].external == dataset
