"""CCA of 30,000 pairs of 4,096 and 3,000 columns, beside cca_zoo and scikit-learn.

The views share ten latent variables, with noise, and the first ten canonical correlations are
compared: those of the learnt maps, on the training pairs, without a ridge. scikit-learn's NIPALS
inverts both views for each component, so that it is measured on fewer pairs and columns, ours
beside it. One thread, each once.
Run: PYTHONPATH=. python benchmarks/cca.py
"""

from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.ratio import EXTRA, Row, in_turns, named, not_measured, show
from crossmodal.methods import CCA

COMPONENTS, NOISE = 10, 3.0
WHOLE, PART = (30_000, 4_096, 3_000), (5_000, 600, 400)


def views(pairs, *widths):
    """Both views, float64, which share latent variables of falling strength."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((pairs, COMPONENTS)) * np.linspace(1, 0.5, COMPONENTS)
    maps = [rng.standard_normal((COMPONENTS, width)) for width in widths]
    return [latent @ m + NOISE * rng.standard_normal((pairs, m.shape[1])) for m in maps]


def ours(first, second):
    found = CCA(dims=COMPONENTS, ridge=0.0, power=0.0).fit(first, second)
    return found.transform(first, second)


def by_cca_zoo(first, second):
    from cca_zoo import linear

    return linear.CCA(n_components=COMPONENTS).fit_transform([first, second])


def by_sklearn(first, second):
    from sklearn import cross_decomposition

    return cross_decomposition.CCA(COMPONENTS, scale=False).fit_transform(first, second)


def correlations(variates):
    """Of each pair of canonical variates, (COMPONENTS,), in order."""
    x, y = (v - v.mean(0) for v in variates)
    found = (x * y).sum(0) / np.sqrt((x**2).sum(0) * (y**2).sum(0))
    return np.sort(np.abs(found))[::-1]


def compared(peer, work, size, note):
    small = views(600, 60, 50)
    found, expected = (correlations(each(*small)) for each in (work, ours))
    np.testing.assert_allclose(found, expected, atol=1e-3)
    data = views(*size)
    own, theirs = in_turns(*(partial(each, *data) for each in (ours, work)), rounds=1)
    return Row("CCA, fitted and applied", text(size), named(peer), own, theirs, note)


def text(size):
    """Pairs, columns and components."""
    pairs, first, second = size
    return f"{pairs:,} pairs, {first:,} + {second:,} columns, {COMPONENTS} components"


def ratios():
    peers = {
        "cca-zoo": (by_cca_zoo, WHOLE, ""),
        "scikit-learn": (by_sklearn, PART, "NIPALS inverts both views for each component"),
    }
    for peer, (work, size, note) in peers.items():
        if find_spec({"cca-zoo": "cca_zoo"}.get(peer, "sklearn")):
            yield compared(peer, work, size, note)
        else:
            yield not_measured("CCA, fitted and applied", text(size), peer, EXTRA)


if __name__ == "__main__":
    show(ratios())
