import json

import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.embedded import read_embedded
from crossmodal.evaluation.retrieval import inner_product


def test_a_run_comes_back_with_its_method_and_both_splits(run_toy):
    run = run_toy()
    found = read_embedded(run.embeddings)
    assert found.facts == json.loads(run.model.with_suffix(".json").read_text())
    assert list(found.splits) == ["validation", "test"]
    assert found.directions() == [("image", "text"), ("text", "image")]
    assert {m: len(ids) for m, ids in found.ids.items()} == {"image": 24, "text": 48}
    items = set(found.ids["image"])
    assert all(caption.split("#")[0] in items for caption in found.ids["text"])


def test_scores_are_those_of_the_method_in_any_slice(run_toy):
    found = read_embedded(run_toy().embeddings)
    image, text = (found.splits["test"][m].embeddings for m in ("image", "text"))
    expected = inner_product(image, text)
    scores = found.scorer("test", "image", "text")(slice(3, 7))
    np.testing.assert_allclose(scores, expected[3:7], rtol=1e-6)


@pytest.mark.parametrize("labelled", [True, False])
def test_labels_count_where_there_are_any(run_toy, labelled):
    assert read_embedded(run_toy(labelled).embeddings).by_label == labelled


@pytest.mark.parametrize("content", [None, b"", b"no HDF5"])
def test_a_missing_or_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "seed0.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"seed0\.h5"):
        read_embedded(path)
