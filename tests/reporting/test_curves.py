import pytest

from crossmodal.learning.curve import LearningCurve
from crossmodal.reporting.curves import (
    LEARNING,
    learning_columns,
    learning_curve,
    precision_curve,
)


def test_learning_curve_averages_seeds_that_reached_a_step():
    first = LearningCurve([{"step": 0, "loss": 4, "validation": 0.1}])
    rows = [{"step": 0, "loss": 2, "validation": 0.3}, {"step": 1, "loss": 1, "validation": 0.5}]
    curves = [first, LearningCurve(rows)]
    assert learning_curve(curves, []) == [
        [0, 0.2, 3.0, "", pytest.approx(0.02**0.5)],
        [1, 0.5, 1.0, "", ""],
    ]


def test_steps_are_sorted_as_numbers_and_a_loss_may_be_absent():
    steps = (2000.0, 10000.0, 900.0)
    rows = [{"triplets": step, "validation": 1.0, "seconds": step} for step in steps]
    expected = [[step, 1.0, "", step, ""] for step in (900.0, 2000.0, 10000.0)]
    assert learning_curve([LearningCurve(rows)], []) == expected


def test_optimiser_steps_count_where_they_were_logged():
    curve = LearningCurve([{"epoch": e, "step": 46 * e + 46, "validation": 1} for e in range(2)])
    assert learning_columns([curve]) == [*LEARNING, "epoch", "spread validation"]
    assert learning_curve([curve], []) == [[46, 1, "", "", 0, ""], [92, 1, "", "", 1, ""]]


def test_method_without_curve_has_its_validation_score():
    runs = [{"model": {"validation": 0.25}}, {"model": {"validation": 0.75}}]
    assert learning_curve([LearningCurve([])] * 2, runs) == [
        [0, 0.5, "", "", pytest.approx(0.125**0.5)]
    ]


def test_method_with_loss_alone_has_its_validation_score():
    curve = LearningCurve([{"triplets": 1000, "loss": 0.9}, {"triplets": 2000, "loss": 0.5}])
    assert learning_curve([curve], [{"model": {"validation": 0.25}}]) == [[0, 0.25, "", "", ""]]


def test_precision_curve_averages_shared_scopes():
    chance = {"precision_by_chance": {"a-to-b": 0.05, "b-to-a": 0.1}}
    runs = [
        {"precision_scope": {"a-to-b": {1: 0.1, 10: 0.5, 5: 0.2}, "b-to-a": {1: 0.3}}},
        {"precision_scope": {"a-to-b": {1: 0.2, 10: 0.5}, "b-to-a": {1: 0.4}}},
    ]
    found = precision_curve([run | chance for run in runs])
    of_each = [f"{kind}{d}" for d in ("a-to-b", "b-to-a") for kind in ("", "spread ", "chance ")]
    assert list(found) == ["scope", "precision", *of_each]
    assert (found["scope"], found["precision"]) == ([1], [0.25])
    assert found["a-to-b"] == [pytest.approx(0.15)]
    assert found["b-to-a"] == [pytest.approx(0.35)]
    assert found["spread a-to-b"] == [pytest.approx(0.005**0.5)]
    assert (found["chance a-to-b"], found["chance b-to-a"]) == ([0.05], [0.1])
    one = {"precision_scope": {"a-to-b": {10: 0.5, 5: 0.2}}}
    found = precision_curve([one | {"precision_by_chance": {"a-to-b": 0.05}}])
    assert (found["scope"], found["a-to-b"]) == ([5, 10], [0.2, 0.5])
    assert found["spread a-to-b"] == ["", ""]


def test_what_figures_draw_besides_is_kept():
    row = {"step": 0, "validation": 0.1, "alpha": 0.5, "margin": 1}
    curve = LearningCurve([row | {"seconds a-to-b": 3, "validation a-to-b": 0.2}])
    columns = ["alpha", "seconds a-to-b", "validation a-to-b"]
    spreads = ["spread validation", "spread validation a-to-b"]
    assert learning_columns([curve]) == [*LEARNING, *columns, *spreads]
    assert learning_curve([curve], []) == [[0, 0.1, "", "", 0.5, 3, 0.2, "", ""]]
