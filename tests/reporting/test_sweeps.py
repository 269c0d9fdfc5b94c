import pytest

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import Figure
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.sweeps import option_points, step_points

GRID = Experiment(
    label="SAM",
    dataset="toy",
    views={"image": "pixels", "text": "words"},
    relevance="category",
    method="sam",
    grid={"margin": [0.5, 2.0], "slope": [1, 3]},
)


def make_run(options, score):
    directions = {"a-to-b": {"R@1": score + 1, "mAP": 0.0}, "b-to-a": {"R@1": score + 3}}
    test = {"average": {"mAP": score}, "both": {"rsum": 2 * score}, **directions}
    model = {"options": options, "last_epoch": {}, "fit_seconds": 7.0, "peak_memory_mb": 9}
    return {"test": test, "model": model}


def figure(**changes):
    names = list(GRID.members("sam"))
    return Figure(**{"title": "Toy", "experiments": names, "x": "margin", "y": "mAP"} | changes)


def points(y):
    members = GRID.members("sam")
    runs = {
        name: [
            make_run(m.set_by_grid() | {"batch": 5}, s + m.set_by_grid()["margin"])
            for s in (0.2, 0.4)
        ]
        for name, m in members.items()
    }
    return list(option_points(figure(y=y), members, runs))


def test_experiments_that_differ_in_x_alone_share_a_line():
    lines = {}
    for name, x, y, spread, seeds in points("mAP"):
        lines.setdefault(name, []).append((x, y))
        assert spread == pytest.approx(0.02**0.5)
        assert seeds == 2
    expected = [(0.5, pytest.approx(0.8)), (2.0, pytest.approx(2.3))]
    assert lines == {"SAM, slope 1": expected, "SAM, slope 3": expected}


def test_fact_as_x_leaves_the_line_name_with_all_facts():
    plain = GRID.model_copy(update={"grid": {}, "label": "CCA on Lite{size}"})
    members = {
        f"cca{size}": plain.model_copy(update={"facts": {"size": size, "accuracy": 70.0 + size}})
        for size in (1, 2)
    }
    assert [m.row() for m in members.values()] == ["CCA on Lite1", "CCA on Lite2"]
    runs = {name: [make_run({}, 0.3)] for name in members}
    drawn = figure(experiments=list(members), x="accuracy")
    found = list(option_points(drawn, members, runs))
    assert [point[:3] for point in found] == [
        ("CCA on Lite...", 71.0, pytest.approx(0.3)),
        ("CCA on Lite...", 72.0, pytest.approx(0.3)),
    ]


def test_what_varies_takes_the_words_between_its_commas_along():
    update = {"label": "SAM, margin of {margin}, FC7, {accuracy} %", "facts": {"accuracy": 70.0}}
    member = next(iter(GRID.model_copy(update=update).members("sam").values()))
    assert member.row("margin") == "SAM, FC7, 70 %, slope 1"
    assert member.row("accuracy") == "SAM, margin of 0.5, FC7, slope 1"


@pytest.mark.parametrize(
    ("metric", "value"), [("rsum", 1.6), ("R@1", 2.8), ("training time (s)", 7)]
)
def test_a_metric_is_found_wherever_it_belongs(metric, value):
    assert points(metric)[0][2] == pytest.approx(value)


def test_a_direction_has_its_own_points():
    members, run = GRID.members("sam"), make_run({"margin": 1}, 0.2)
    name = next(iter(members))
    run["test"]["a-to-b"]["mAP"] = 0.7
    run["model"]["last_epoch"] = {"seconds a-to-b": 2.0, "seconds b-to-a": 3.0}
    for y, direction, value in (
        *(("mAP", "a-to-b", 0.7), ("mAP", None, 0.2)),
        *(("training time (s)", "a-to-b", 2.0), ("training time (s)", None, 5.0)),
    ):
        shown = figure(experiments=[name], y=y, direction=direction)
        assert next(option_points(shown, members, {name: [run]}))[2] == value
    curve = [{"step": "1", "validation": "0.1", "validation a-to-b": "0.3"}]
    curve[0]["spread validation a-to-b"] = "0.02"
    shown = figure(experiments=[name], x="step", y="validation", direction="a-to-b")
    assert next(step_points(shown, members, {name: curve}))[2:4] == (0.3, "0.02")


def test_a_direction_that_was_not_timed_alone_is_named():
    members = GRID.members("sam")
    name = next(iter(members))
    shown = figure(experiments=[name], y="training time (s)", direction="a-to-b")
    with pytest.raises(CrossmodalError, match=r"'Toy': training time .* of a-to-b alone"):
        next(option_points(shown, members, {name: [make_run({"margin": 1}, 0.2)]}))


def test_a_training_is_a_line_of_what_was_logged():
    members = GRID.members("sam")
    curve = [
        {"step": "0", "validation": "0.1", "loss": "", "seconds": "1"},
        {"step": "5", "validation": "0.4", "loss": "3", "seconds": "2"},
    ]
    shown = figure(experiments=["sam-0_5-1"], x="step", y="loss")
    found = list(step_points(shown, members, {"sam-0_5-1": curve}))
    assert found == [("SAM, margin 0.5, slope 1", 5.0, 3.0, "", "")]
