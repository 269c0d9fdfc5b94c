from crossmodal.evaluation.curves import learning_curve, precision_curve


def test_a_learning_curve_is_the_mean_of_the_seeds_that_reached_a_step():
    curves = [
        [{"epoch": "0", "loss": "4", "validation": "0.1"}],
        [
            {"epoch": "0", "loss": "2", "validation": "0.3"},
            {"epoch": "1", "loss": "1", "validation": "0.5"},
        ],
    ]
    assert learning_curve(curves, []) == [[0, 0.2, 3.0, ""], [1, 0.5, 1.0, ""]]


def test_steps_are_sorted_as_numbers_and_a_loss_may_be_absent():
    steps = ("2000", "10000", "900")
    curve = [{"triplets": step, "validation": "1", "seconds": step} for step in steps]
    expected = [[step, 1.0, "", step] for step in (900.0, 2000.0, 10000.0)]
    assert learning_curve([curve], []) == expected


def test_a_method_without_a_curve_has_the_validation_score_of_its_fit():
    runs = [{"model": {"validation": 0.25}}, {"model": {"validation": 0.75}}]
    assert learning_curve([[], []], runs) == [[0, 0.5, "", ""]]


def test_a_method_that_logs_its_loss_alone_has_the_validation_score_of_its_fit_too():
    curve = [{"triplets": "1000", "loss": "0.9"}, {"triplets": "2000", "loss": "0.5"}]
    assert learning_curve([curve], [{"model": {"validation": 0.25}}]) == [[0, 0.25, "", ""]]


def test_a_precision_curve_is_the_mean_of_directions_and_seeds_at_scopes_that_all_have():
    runs = [
        {"precision_scope": {"a-to-b": {"1": 0.1, "10": 0.5, "5": 0.2}, "b-to-a": {"1": 0.3}}},
        {"precision_scope": {"a-to-b": {"1": 0.2, "10": 0.5}, "b-to-a": {"1": 0.4}}},
    ]
    assert precision_curve(runs) == [[1, 0.25]]
    assert precision_curve([{"precision_scope": {"a-to-b": {"10": 0.5, "5": 0.2}}}]) == [
        [5, 0.2],
        [10, 0.5],
    ]
