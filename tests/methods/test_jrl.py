import numpy as np
import pytest
from scipy.optimize import approx_fprime

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods._linear.graph import normalised_adjacency
from crossmodal.methods.jrl import JRL

OPTIONS = {
    "penalty": 5.0,
    "graph_weight": 2.0,
    "pair_weight": 0.7,
    "neighbours": 10,
    "iterations": 500,
    "tolerance": 0.0,
}


def jrl(**options):
    return JRL(**OPTIONS | options)


def zscores(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def learnt(method, views):
    """P and R for z-scored rows."""
    return [method.arrays[f"map.{m}"] * x.std(axis=0)[:, None] for m, x in views.items()]


def literal_objective(views, labels, maps):
    """The objective, with dense Laplacians."""
    y = labels - labels.mean(axis=0)
    rows = [zscores(x) for x in views.values()]
    total = OPTIONS["pair_weight"] * np.square(rows[0] @ maps[0] - rows[1] @ maps[1]).sum()
    for x, p in zip(rows, maps, strict=True):
        projected = x @ p
        laplacian = np.eye(len(x)) - normalised_adjacency(x, OPTIONS["neighbours"]).toarray()
        total += np.square(projected - y).sum()
        total += OPTIONS["graph_weight"] * np.trace(projected.T @ laplacian @ projected)
        total += OPTIONS["penalty"] * np.sqrt(np.square(p).sum(axis=1) + 1e-8).sum()
    return total


def test_objective_falls_to_a_stationary_point(labelled, make_split):
    views, labels = labelled
    split, run = make_split(views, labels), Run(seed=0)
    method = jrl()
    method.fit(split, split, run)
    objectives = [row["objective"] for row in run.curve]
    assert (np.diff(objectives) <= 1e-9).all()
    maps = learnt(method, views)
    assert objectives[-1] == pytest.approx(literal_objective(views, labels, maps), rel=1e-9)
    shapes = [p.shape for p in maps]

    def flat(x):
        parts = np.split(x, [maps[0].size])
        return literal_objective(
            views, labels, [p.reshape(s) for p, s in zip(parts, shapes, strict=True)]
        )

    gradient = approx_fprime(np.concatenate([p.ravel() for p in maps]), flat, 1e-7)
    np.testing.assert_allclose(gradient, 0, atol=1e-3)


def test_without_its_extra_terms_it_is_least_squares(labelled, fitted):
    views, labels = labelled
    method = fitted(jrl(penalty=1e-9, graph_weight=0.0, pair_weight=0.0), views, labels)
    for x, p in zip(views.values(), learnt(method, views), strict=True):
        expected = np.linalg.lstsq(zscores(x), labels - labels.mean(axis=0), rcond=None)[0]
        np.testing.assert_allclose(p, expected, atol=1e-8)


def test_much_pair_weight_ties_the_projections(labelled, fitted):
    views, labels = labelled
    rows = [zscores(x) for x in views.values()]

    def distance(pair_weight):
        p, r = learnt(fitted(jrl(pair_weight=pair_weight), views, labels), views)
        return np.linalg.norm(rows[0] @ p - rows[1] @ r)

    assert distance(1000.0) < 0.1 * distance(0.0)


def test_graph_makes_neighbours_project_alike(labelled, fitted):
    views, labels = labelled
    x = zscores(views["image"])
    laplacian = np.eye(150) - normalised_adjacency(x, 10).toarray()

    def roughness(graph_weight):
        p, _ = learnt(fitted(jrl(graph_weight=graph_weight), views, labels), views)
        return np.trace(p.T @ x.T @ laplacian @ x @ p) / np.square(x @ p).sum()

    assert roughness(100.0) < roughness(0.0)


def test_posteriors_by_plain_loops(labelled, fitted, make_split):
    views, labels = labelled
    method, split = fitted(jrl(), views, labels), make_split(views)
    p, r = learnt(method, views)
    a, b = zscores(views["image"]) @ p, zscores(views["text"]) @ r
    anchors, classes = np.vstack([a, b]), np.vstack([labels, labels])
    for modality, projected in (("image", a), ("text", b)):
        found = method.embed(modality, split.views[modality])
        np.testing.assert_allclose(found.sum(axis=1), 1)
        for row, posterior in zip(projected, found, strict=True):
            distances = np.linalg.norm(anchors - row, axis=1)
            nearest = np.argsort(distances)[:10]
            weights = 1 / (1 + np.exp(distances[nearest]))
            np.testing.assert_allclose(
                posterior, weights @ classes[nearest] / weights.sum(), atol=1e-6
            )


def test_score_is_the_probability_of_the_same_class(labelled, fitted, scores):
    views, labels = labelled
    found = scores(fitted(jrl(), views, labels), views)
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-9
    same = labels.argmax(axis=1)[:, None] == labels.argmax(axis=1)
    assert found[same].mean() > 2 * found[~same].mean()


def test_a_class_of_all_is_certain_with_all_items_as_neighbours(labelled, fitted, make_split):
    views, labels = labelled
    method = fitted(jrl(neighbours=1000), views, np.hstack([np.ones((150, 1)), labels]))
    for modality, view in make_split(views).views.items():
        np.testing.assert_allclose(method.embed(modality, view)[:, 0], 1)


def test_items_of_several_labels_and_without(labelled, fitted, scores):
    views, labels = labelled
    several = labels | labels[::-1]
    several[:20] = False
    assert np.isfinite(scores(fitted(jrl(), views, several), views)).all()


def test_a_restored_method_embeds_the_same(labelled, fitted, scores):
    views, labels = labelled
    method, again = fitted(jrl(), views, labels), jrl()
    again.restore(method.state(), {})
    np.testing.assert_array_equal(scores(again, views), scores(method, views))


def test_labels_are_needed(labelled, fitted):
    with pytest.raises(CrossmodalError, match="learns from labels"):
        fitted(jrl(), labelled[0])
