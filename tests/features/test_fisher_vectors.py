import json

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError

OPTIONS = {"fit_on": ["train"], "min_count": 1, "bos": False}
OPTIONS |= {"word_dims": 4, "window": 3, "mixtures": ["gaussian", "hybrid"], "components": 3}
OPTIONS |= {"iterations": 20, "seed": 0}
WORDS = [f"w{chr(97 + i)}" for i in range(12)]


@pytest.fixture
def captions(tmp_path, rng):
    """30 training captions, and two others: one of unknown words, one of some known ones."""
    texts = [" ".join(rng.choice(WORDS, length)) for length in rng.integers(3, 9, 30)]
    with Writer(tmp_path) as out:
        for index, text in enumerate([*texts, "zz yy", "wa wb zz"]):
            out.item(f"{index}", "train" if index < 30 else "test")
            out.caption(f"{index}#0", f"{index}", text)
    return Prepared(tmp_path)


def fitted(dataset, **options):
    feature = plugins.make("features", "fisher_vectors", OPTIONS | options, "features.f")
    feature.fit(dataset, {})
    return feature


def test_rows_are_the_roots_of_mean_gradients_of_unit_length(captions):
    feature = fitted(captions)
    rows = feature.rows(captions)
    found = feature.extract(captions, rows, {})
    assert found.shape == (32, 2 * 2 * 3 * 4)
    words = feature.vocabulary[4:]
    for row, vector in zip([*rows[:3], rows[-1]], [*found[:3], found[-1]], strict=True):
        known = [words.index(word) for word in row.text.split() if word in words]
        parts = []
        for mixture in feature.mixtures:
            mean = np.mean([mixture.gradients(feature.vectors[[w]])[0] for w in known], axis=0)
            root = np.sign(mean) * np.sqrt(np.abs(mean))
            parts.append(root / np.linalg.norm(root))
        np.testing.assert_allclose(vector, np.concatenate(parts), atol=1e-6)
    assert not found[-2].any()  # no known word


def test_what_was_learnt_makes_the_same_rows(captions):
    feature = fitted(captions)
    restored = plugins.make("features", "fisher_vectors", OPTIONS, "features.f")
    restored.restore(json.loads(json.dumps(feature.learnt())))
    rows = feature.rows(captions)
    expected = feature.extract(captions, rows, {})
    np.testing.assert_array_equal(restored.extract(captions, rows, {}), expected)
    # rows do not depend on those beside them
    np.testing.assert_allclose(restored.extract(captions, rows[5:7], {}), expected[5:7], atol=1e-6)


def test_only_training_captions_teach(captions, tmp_path):
    with Writer(tmp_path / "other") as out:
        for row in captions.captions[:30]:
            out.item(row.item, "train")
            out.caption(row.id, row.item, row.text)
    assert fitted(Prepared(tmp_path / "other")).learnt() == fitted(captions).learnt()


def test_too_few_words_are_an_error(captions):
    with pytest.raises(CrossmodalError, match="12 words are too few for 13 dimensions"):
        fitted(captions, word_dims=13)
