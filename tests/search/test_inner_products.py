from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.methods.acmr import ACMR
from crossmodal.methods.cca import CCA
from crossmodal.methods.cmolrs import CMOLRS
from crossmodal.methods.deep_sm import DeepSM
from crossmodal.methods.jrl import JRL
from crossmodal.methods.multimodal_embedding import MultimodalEmbedding
from crossmodal.search.inner_products import FORMS, find_form

FORWARD, BACKWARD = ("image", "text"), ("text", "image")


@pytest.mark.parametrize(
    ("method", "options", "direction", "form"),
    [
        (CCA, {}, FORWARD, "unit"),
        (JRL, {}, FORWARD, "plain"),
        (CMOLRS, {}, FORWARD, "first half"),
        (CMOLRS, {}, BACKWARD, "second half"),
        (ACMR, {"similarity": "cosine"}, FORWARD, "unit"),
        (ACMR, {"similarity": "euclidean"}, FORWARD, None),
        (DeepSM, {"similarity": "dot"}, FORWARD, "plain"),
        (DeepSM, {"similarity": "kl"}, FORWARD, None),
        (DeepSM, {"similarity": "centred"}, FORWARD, None),
        (MultimodalEmbedding, {"similarity": "cosine"}, BACKWARD, "unit"),
        (MultimodalEmbedding, {"similarity": "order"}, BACKWARD, None),
        (MultimodalEmbedding, {"similarity": "order-norm"}, BACKWARD, None),
    ],
)
def test_the_form_gives_the_scores_of_the_method(cpu, rng, method, options, direction, form):
    model = object.__new__(method)
    model.options = SimpleNamespace(**options)
    assert find_form(model, direction, (10,)) == form
    if form:
        queries, gallery = rng.random((2, 5, 10), np.float32)
        found = FORMS[form](queries) @ FORMS[form](gallery).T
        np.testing.assert_allclose(found, model.score(queries, gallery, direction), rtol=1e-4)


def test_matchmaps_have_no_form():
    assert find_form(None, FORWARD, (4, 10)) is None
