import csv
from importlib.resources import files

import pytest

from crossmodal.config.published_numbers import Published, published_numbers
from crossmodal.errors import CrossmodalError

KEY = ("paper", "table", "dataset", "method", "variant")
PAPERS = {"SAM", "FNE", "VASE", "CMOLRS"}


def read(name):
    text = (files("crossmodal") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), strict=True))


ROWS = read("retrieval")
SOURCES = sorted({tuple(row[c] for c in KEY) for row in ROWS if row["value"]})


@pytest.mark.parametrize(
    ("name", "rows"), [("retrieval", 1461), ("hyperparameters", 275), ("datasets", 47)]
)
def test_the_copies_are_whole(name, rows):
    found = read(name)
    assert len(found) == rows
    assert {row["paper"] for row in found} == PAPERS
    assert all(None not in row and None not in row.values() for row in found)


@pytest.mark.parametrize(
    ("source", "direction", "metric", "value"),
    [
        (("SAM", "Table 1", "Pascal Sentences", "SAM"), "average", "mAP", 0.640),
        (("SAM", "Table 1", "Pascal Sentences", "CCA"), "image-to-text", "mAP", 0.203),
        (("CMOLRS", "Table I", "WIKI", "CCA"), "image-to-text", "mAP@50", 0.377),
    ],
)
def test_a_number_is_the_one_in_the_paper(source, direction, metric, value):
    paper, table, dataset, method = source
    found = Published(paper=paper, table=table, dataset=dataset, method=method)
    assert published_numbers(found)[direction, metric].value == value


def test_printed_averages_and_sums_agree_with_their_parts():
    for source in SOURCES:
        numbers = published_numbers(Published(**dict(zip(KEY, source, strict=True))))
        values = {place: number.value for place, number in numbers.items()}
        for metric in {metric for _, metric in values}:
            parts = [v for (d, m), v in values.items() if m == metric and "-to-" in d]
            if ("average", metric) in values and len(parts) == 2:
                expected = pytest.approx(sum(parts) / 2, abs=0.00101)
                assert values["average", metric] == expected, source
        recalls = [value for (_, metric), value in values.items() if metric.startswith("R@")]
        if ("both", "rsum") in values and len(recalls) == 6:
            assert values["both", "rsum"] == pytest.approx(sum(recalls), abs=0.351), source


def test_printed_numbers_are_within_the_range_of_their_metric():
    for row in ROWS:
        if row["value"] and row["metric"].startswith(("mAP", "R@")):
            assert 0 < float(row["value"]) <= (1 if row["metric"].startswith("mAP") else 100), row


@pytest.mark.parametrize(
    ("changes", "near"),
    [
        ({"variant": "alpha"}, ["alpha(t)=1,lambda=1"]),
        ({"method": "CCCA"}, ["CCA", "SAM"]),
        ({"dataset": "Pascal"}, ["Pascal Sentences", "NUS-WIDE-10k", "Wikipedia"]),
        ({"table": "Table 9"}, ["Table 1", "Table 2"]),
        ({"paper": "SAAM"}, PAPERS),
    ],
)
def test_an_unknown_row_lists_what_there_is_instead(changes, near):
    source = {"paper": "SAM", "table": "Table 1", "dataset": "Pascal Sentences", "method": "SAM"}
    with pytest.raises(CrossmodalError) as caught:
        published_numbers(Published(**(source | changes)))
    unknown, known = str(caught.value).split("there are:")
    assert next(iter(changes.values())) in unknown
    assert [name for name in near if name not in known] == []
