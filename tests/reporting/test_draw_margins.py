import xml.etree.ElementTree as ElementTree

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_csv
from crossmodal.reporting import draw_margins as step
from crossmodal.workflow.report_specs import Margins

COLUMNS = [
    "epoch",
    "alpha",
    "margin",
    "margin a & b | sea",
    "margin a & b | sky",
    "margin sea | sky",
]


def drawn(tmp_path, columns=COLUMNS):
    rows = [[t, t / 10, 1 - t / 20, 0.9, 0.8, "nan"][: len(columns)] for t in range(10)]
    write_csv(tmp_path / "curve.csv", columns, rows)
    step.draw_margins(Margins(title="Toy"), tmp_path / "margins.svg", [tmp_path / "curve.csv"])
    return tmp_path / "margins.svg"


def test_margins_have_a_panel_per_category_with_all_others(tmp_path):
    tree = ElementTree.parse(drawn(tmp_path))
    texts = ["".join(n.itertext()).strip() for n in tree.iter() if n.tag.endswith("}text")]
    for name in ("a & b", "sea", "sky"):
        assert texts.count(name) == 2  # title and legend
    assert {"Toy", "epoch", "all triplets", "alpha(t), dashed"} <= set(texts)


def test_equal_curves_give_equal_bytes(tmp_path):
    assert drawn(tmp_path).read_bytes() == drawn(tmp_path).read_bytes()


def test_a_method_without_margins_is_told(tmp_path):
    with pytest.raises(CrossmodalError, match=r"curve\.csv: holds no margins"):
        drawn(tmp_path, ["epoch", "loss"])
