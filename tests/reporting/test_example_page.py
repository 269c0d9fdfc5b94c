from types import SimpleNamespace

import numpy as np

from crossmodal.reporting.example_page import to_row
from crossmodal.reporting.examples import Example

IDS = {"image": ["a"], "text": ["b"]}


def test_a_query_without_a_right_result_says_so():
    showing = SimpleNamespace(row=lambda modality, id: id)
    example = Example(query=0, pair=0, results=[0], right=[False], rank=np.inf)
    assert "first right result: none<" in to_row(showing, ("image", "text"), IDS, example, "")
