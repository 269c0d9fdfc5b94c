import pytest

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import Table
from crossmodal.reporting.chance import chance

DIRECTIONS = ("image-to-text", "text-to-image")


def make_run(items=300, **spreads):
    values = {"mAP": 0.1234, "R@1": 0.33, "R@10": 3.3}
    return {
        "test_items": items,
        "controls": {"constant": dict.fromkeys(DIRECTIONS, values)},
        "spread_of_chance": dict.fromkeys(DIRECTIONS, spreads or {"R@1": 0.3, "R@10": 1.04}),
    }


def told(metrics, runs, datasets=("toy",)):
    names = [f"e{number}" for number in range(len(runs))]
    experiments = {
        name: Experiment(
            label="",
            dataset=datasets[number % len(datasets)],
            views={"image": "a", "text": "b"},
            relevance="category",
            method="cca",
        )
        for number, name in enumerate(names)
    }
    table = Table(title="Toy", experiments=names, metrics=metrics)
    return chance(table, experiments, {n: [run] for n, run in zip(names, runs, strict=True)})


def test_item_count_and_chance_with_spread_are_stated():
    assert told(["R@1", "R@10", "MedR"], [make_run(1000)]) == [
        "`toy`: 1,000 test items; chance is R@10 3.3 ± 1.0 image-to-text, R@10 3.3 ± 1.0 "
        "text-to-image."
    ]


def test_other_metric_is_stated_without_a_common_one():
    assert "chance is R@1 0.3 ± 0.3 image-to-text" in told(["R@1", "MedR"], [make_run()])[0]
    assert "chance is mAP 0.123 ± 0.050" in told(["mAP", "rsum"], [make_run(mAP=0.05)])[0]
    assert told(["MedR"], [make_run()]) == ["`toy`: 300 test items."]


@pytest.mark.parametrize(("items", "warned"), [(99, True), (100, False)])
def test_few_test_items_are_warned_of(items, warned):
    assert ("Fewer than 100 test items" in told(["R@10"], [make_run(items)])[0]) == warned


def test_each_dataset_is_told_once():
    runs = [make_run(), make_run(), make_run()]
    assert len(told(["R@10"], runs)) == 1
    assert len(told(["R@10"], runs, datasets=("toy", "other"))) == 2


def test_chance_of_a_test_is_told_once_whatever_its_error():
    told_once = told(["R@10"], [make_run(), make_run(**{"R@10": 1.3})])
    assert told_once == told(["R@10"], [make_run()])
