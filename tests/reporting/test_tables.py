import csv
import io

import numpy as np
import pytest

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import Cited, Table
from crossmodal.data.changes import Changes
from crossmodal.reporting.estimates import Estimate
from crossmodal.reporting.rows import Cell, Row, make_rows
from crossmodal.reporting.tables import COLUMNS, LEGEND, best, to_csv, to_markdown

DIRECTIONS = ("image-to-text", "text-to-image")
METRICS = ["mAP", "R@1", "MedR", "rsum"]
TABLE_1 = {"paper": "SAM", "table": "Table 1", "dataset": "Pascal Sentences"}
PASCAL = TABLE_1 | {"method": "CCA"}
PUBLISHED = {"image-to-text": 0.203, "text-to-image": 0.208, "average": 0.206}


def make_experiment(label, dataset="toy", published=None, relevance="category"):
    return Experiment(
        label=label,
        dataset=dataset,
        views={"image": "pixels", "text": "words"},
        relevance=relevance,
        method="cca",
        published=published,
    )


def make_part(value, labelled=True):
    """Metrics of one split as `evaluate` writes them; all follow from one number."""
    metrics = {"R@1": 100 * value, "MedR": 10.0, "queries": 5.0, "gallery": 5.0}
    metrics |= {"mAP": value, "mAP@50": value / 2} if labelled else {}
    average = {"mAP": value, "mAP@50": value / 2} if labelled else {}
    parts = dict.fromkeys(DIRECTIONS, metrics)
    return {"average": average, "both": {"rsum": 500 * value}, **parts}


def make_run(value, labelled=True, random=0.1):
    scorers = {"random": random, "constant": 0.2, "perfect": 1.0}
    controls = {scorer: make_part(v, labelled) for scorer, v in scorers.items()}
    return {"test": make_part(value, labelled), "controls": controls}


def make_table(experiments, metrics=METRICS, note=""):
    return Table(title="Toy", note=note, experiments=experiments, metrics=metrics)


def cite(label):
    return Cited(**TABLE_1, methods={label: "CCA"})


@pytest.fixture
def two():
    """A table of a published experiment with three seeds and an unpublished one with one."""
    table = make_table(["cca", "sam"], note="  Said about it.  ")
    experiments = {"cca": make_experiment("CCA", published=PASCAL), "sam": make_experiment("SAM")}
    runs = {"cca": [make_run(v) for v in (0.3, 0.5, 0.7)], "sam": [make_run(0.25)]}
    return table, make_rows(table, experiments, runs)


def parse(markdown):
    """Direction -> row label -> column -> text."""
    found = {}
    for part in markdown.split("\n\n**")[1:]:
        direction, _, body = part.partition("**\n\n")
        lines = [
            [c.strip() for c in line.strip("|").split("|")]
            for line in body.split("\n\n")[0].splitlines()
        ]
        header, rule, *rows = lines
        assert {len(line) for line in lines} == {len(header)}
        assert rule == ["---"] + ["---:"] * (len(header) - 1)
        found[direction] = {row[0]: dict(enumerate(row[1:], 1)) for row in rows}
        found[direction][""] = dict(enumerate(header[1:], 1))
    return found


def column(found, direction, name):
    (place,) = (place for place, text in found[direction][""].items() if text == name)
    return {label: row[place].strip("*") for label, row in found[direction].items() if label}


@pytest.mark.parametrize("seed", range(5))
def test_a_cell_has_mean_spread_and_difference_over_seeds(seed):
    values = np.random.default_rng(seed).random(4).tolist()
    cell = Cell("mAP", 0.4, values)
    assert cell.reproduced == pytest.approx(np.mean(values))
    assert cell.spread == pytest.approx(np.std(values, ddof=1))
    assert cell.difference == pytest.approx(np.mean(values) - 0.4)


def drawn_rows(rng, errors, *names):
    """Rows of a column whose differences from the first have these values and errors."""
    shared = rng.standard_normal(2000)
    rows = []
    for name, (value, error) in zip(names, errors, strict=True):
        draws = {0: value + shared + error * rng.standard_normal(2000)}
        cell = Cell("R@1", None, [value], estimate=Estimate({0: value}, draws))
        rows.append(Row(name, name, "toy", {("a-to-b", "R@1"): cell}, test=("toy",)))
    return rows


def test_bold_is_what_a_paired_bootstrap_does_not_tell_apart(rng):
    rows = drawn_rows(rng, [(30, 0), (29, 1), (27, 1), (29.9, 0.01)], "best", "near", "far", "sure")
    assert best(rows, ("a-to-b", "R@1")) == {"best", "near"}
    # the error of each row alone, 1, tells nothing apart
    assert rows[0].cells["a-to-b", "R@1"].show_reproduced() == "30.0 (1.0)"


def test_bold_is_corrected_for_the_length_of_the_column(rng):
    errors = [(30, 0), (27.8, 1), *[(30 - 0.01 * i, 1) for i in range(20)]]
    names = [f"row{i}" for i in range(22)]
    assert "row1" not in best(drawn_rows(rng, errors[:2], *names[:2]), ("a-to-b", "R@1"))
    assert "row1" in best(drawn_rows(rng, errors, *names), ("a-to-b", "R@1"))


def test_the_legend_explains_errors_where_there_are_some(rng, two):
    table, rows = two
    assert LEGEND not in to_markdown(table, rows)
    assert LEGEND in to_markdown(table, drawn_rows(rng, [(30, 0)], "best"))


def test_one_seed_has_no_spread():
    cell = Cell("mAP", 0.4, [0.5])
    assert (cell.spread, cell.show_reproduced()) == (None, "0.500")


def test_ranks_without_end_have_no_spread():
    cell = Cell("MedR", None, [np.inf, np.inf])
    assert (cell.spread, cell.show_reproduced()) == (None, "inf")


def test_missing_run_is_empty_and_never_published():
    cell = Cell("mAP", 0.4, [])
    assert (cell.reproduced, cell.spread, cell.difference) == (None, None, None)
    assert cell.show_reproduced() == cell.show(cell.difference) == ""
    assert cell.show(cell.published) == "0.400"


def test_table_of_starts_counts_them_and_last_similarities():
    runs = []
    for value in (0.9, 0.9, 0.001, 0.9, 0.9):
        run = make_run(value) | {"validation": make_part(value)}
        run["controls"]["constant"] = make_part(0.01)
        runs.append(
            run | {"model": {"last_epoch": {"positives": value, "negatives": 0.25}, "plateau": {}}}
        )
    variant = "lr=0.0001,margin=0.05,abs=yes"
    published = {"paper": "FNE", "table": "Table 5", "dataset": "Flickr8K", "variant": variant}
    experiment = make_experiment("FNE-MOE-abs", published=published | {"method": "FNE-MOE-abs"})
    starts = "successful starts of 5"
    table = make_table(["moe"], metrics=[starts, "rsum", "positives", "negatives"])
    found = parse(to_markdown(table, make_rows(table, {"moe": experiment}, {"moe": runs})))
    assert column(found, "both", f"{starts} published")["FNE-MOE-abs"] == "4.0"
    assert column(found, "both", f"{starts} reproduced")["FNE-MOE-abs"].startswith("4.0 ±")
    assert column(found, "both", "negatives")["FNE-MOE-abs"] == "0.250 ± 0.000"


def test_time_and_memory_belong_to_the_whole_run():
    runs = [make_run(0.3), make_run(0.5)]
    for run, logged in zip(runs, ({"seconds": 2.0}, {}), strict=True):
        run["model"] = {"last_epoch": logged, "fit_seconds": 9.0, "peak_memory_mb": 300}
    table = make_table(["cca"], ["mAP", "training time (s)", "peak memory (MB)"])
    row = make_rows(table, {"cca": make_experiment("CCA")}, {"cca": runs})[0]
    assert row.cells["both", "training time (s)"].values == [2.0, 9.0]
    assert row.cells["both", "peak memory (MB)"].show_reproduced() == "300 ± 0"


def test_direction_times_stand_beside_published_ones():
    run = make_run(0.3)
    logged = {"seconds": 5.0, "seconds image-to-text": 2.0, "seconds text-to-image": 3.0}
    run["model"] = {"last_epoch": logged, "fit_seconds": 9.0, "peak_memory_mb": 300}
    published = {"paper": "CMOLRS", "table": "Table VI", "dataset": "PASCAL VOC 2007"}
    published |= {"method": "fast-CMOLRS", "variant": "margin=10"}
    time = "training time (s)"
    table = make_table(["cmolrs"], ["mAP", time])
    experiment = make_experiment("fast-CMOLRS", published=published)
    row = make_rows(table, {"cmolrs": experiment}, {"cmolrs": [run]})[0]
    cell = row.cells["text-to-image", time]
    assert (cell.published, cell.values) == (252.73, [3.0])
    assert row.cells["image-to-text", time].values == [2.0]
    assert ("both", time) not in row.cells


def test_published_map_of_no_direction_stands_by_the_average():
    run = make_run(0.3)
    for metrics in (
        *run["test"].values(),
        *(m for c in run["controls"].values() for m in c.values()),
    ):
        if "mAP" in metrics:
            metrics["mAP@100"] = metrics["mAP"]
    cited = {"paper": "SAM", "table": "Section 4.4", "dataset": "Wikipedia", "methods": ["SAM"]}
    table = make_table(["cca"], ["mAP@100"]).model_copy(update={"cited": Cited(**cited)})
    rows = make_rows(table, {"cca": make_experiment("CCA")}, {"cca": [run]})
    found = parse(to_markdown(table, rows))
    assert column(found, "average", "mAP@100 published")["SAM"] == "0.541"
    assert column(found, "average", "mAP@100 reproduced")["CCA"] == "0.300"


def test_directions_of_a_table_are_those_of_its_runs():
    found = {"image-to-image": {"mAP": 0.6, "queries": 5.0, "gallery": 5.0}}
    run = {"test": found, "controls": dict.fromkeys(["random", "constant", "perfect"], found)}
    table = make_table(["cca"])
    rows = make_rows(table, {"cca": make_experiment("CCA")}, {"cca": [run]})
    assert [list(row.cells) for row in rows] == [[("image-to-image", "mAP")]] * 4


def test_published_average_of_other_directions_is_not_compared():
    metrics = {"mAP": 0.6, "queries": 5.0, "gallery": 5.0}
    found = {"image-to-image": metrics, "text-to-text": metrics, "average": {"mAP": 0.6}}
    run = {"test": found, "controls": dict.fromkeys(["random", "constant", "perfect"], found)}
    experiments = {"cca": make_experiment("CCA", published=PASCAL)}
    rows = make_rows(make_table(["cca"]), experiments, {"cca": [run]})
    assert ("average", "mAP") in rows[0].cells
    assert all(cell.published is None for row in rows for cell in row.cells.values())


def test_a_row_of_a_grid_tells_its_value():
    grid = make_experiment("CCA").model_copy(update={"grid": {"dims": [5]}})
    rows = make_rows(make_table(["cca"]), {"cca": grid}, {"cca": [make_run(0.3)]})
    assert rows[0].label == "CCA, dims 5"


def test_what_was_not_published_has_no_difference():
    assert Cell("mAP", None, [0.5]).difference is None


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("mAP", "0.123"),
        ("mAP@50", "0.123"),
        ("R@10", "0.1"),
        ("R@1_pessimistic", "0.1"),
        ("rsum", "0.1"),
        ("MedR", "0.1"),
        ("MeanR", "0.1"),
    ],
)
def test_decimals_are_those_of_the_papers(metric, text):
    cell = Cell(metric, None, [])
    assert cell.show(0.1234) == text
    assert cell.show(0.1234, "+") == f"+{text}"
    assert cell.show(-0.1234, "+") == f"-{text}"


def test_published_and_reproduced_numbers_stand_side_by_side(two):
    found = parse(to_markdown(*two))
    assert list(found) == [*DIRECTIONS, "average", "both"]
    for direction in (*DIRECTIONS, "average"):
        published = column(found, direction, "mAP published")
        assert published["CCA"] == f"{PUBLISHED[direction]:.3f}"
        assert column(found, direction, "mAP reproduced")["CCA"] == "0.500 ± 0.200"
        difference = 0.5 - PUBLISHED[direction]
        assert column(found, direction, "difference")["CCA"] == f"{difference:+.3f}"
        assert (published["SAM"], column(found, direction, "difference")["SAM"]) == ("", "")
        assert column(found, direction, "mAP reproduced")["SAM"] == "0.250"


@pytest.mark.parametrize(("label", "cell"), [("a|b", r"a\|b"), ("a\nb\n", "a b")])
def test_a_bar_or_lines_end_in_a_label_separates_nothing(label, cell):
    row = Row("a", label, "toy", {("a-to-b", "R@1"): Cell("R@1", None, [50.0])}, test=("toy",))
    table = Table(title="T", experiments=["a"], metrics=["R@1"])
    assert f"\n| {cell} | 1 | 50.0 |\n" in to_markdown(table, [row])


def test_a_metric_that_nobody_published_has_one_column(two):
    found = parse(to_markdown(*two))
    assert "R@1 published" not in found["image-to-text"][""].values()
    assert column(found, "image-to-text", "R@1") == {
        "CCA": "50.0 ± 20.0",
        "SAM": "25.0",
        "(random scores)": "10.0 ± 0.0",
        "(constant scores)": "20.0 ± 0.0",
        "(perfect scores)": "100.0 ± 0.0",
    }
    assert column(found, "both", "rsum")["CCA"] == "250.0 ± 100.0"


def test_the_number_of_seeds_is_shown_for_experiments_alone(two):
    found = parse(to_markdown(*two))
    controls = dict.fromkeys(("(random scores)", "(constant scores)", "(perfect scores)"), "")
    assert column(found, "average", "seeds") == {"CCA": "3", "SAM": "1", **controls}


def test_a_direction_shows_only_the_metrics_it_has(two):
    header = parse(to_markdown(*two))
    assert list(header["both"][""].values()) == ["seeds", "rsum"]
    assert "R@1" not in header["average"][""].values()


def test_the_title_and_the_note_come_first(two):
    table, rows = two
    assert to_markdown(table, rows).startswith("## Toy\n\nSaid about it.\n\n**image-to-text**")
    assert to_markdown(make_table(["cca"]), rows).startswith("## Toy\n\n**image-to-text**")


def bold(table, rows, direction="image-to-text"):
    """Columns in which a row is bold, by its label."""
    found = parse(to_markdown(table, rows))[direction]
    header = found.pop("")
    return {
        label: {header[n] for n, text in row.items() if text.startswith("**")}
        for label, row in found.items()
    }


def test_the_best_number_of_each_dataset_is_bold():
    values = {"cca": ("toy", 0.2), "sam": ("toy", 0.3), "sh": ("toy", 0.3004), "ph": ("other", 0.1)}
    experiments = {name: make_experiment(name, dataset) for name, (dataset, _) in values.items()}
    runs = {name: [make_run(value)] for name, (_, value) in values.items()}
    runs["cca"][0]["test"]["image-to-text"] = {**make_part(0.2)["image-to-text"], "MedR": 9.0}
    table = make_table([*values])
    found = bold(table, make_rows(table, experiments, runs))
    # 0.3004 looks like 0.3, and nothing but itself is on the other dataset
    assert [found[name] for name in values] == [{"MedR"}, {"mAP", "R@1"}, {"mAP", "R@1"}, set()]
    assert not any(columns for name, columns in found.items() if name not in values)


def test_numbers_of_other_classes_are_not_compared():
    values = {"ten": (0.2, []), "ten_too": (0.1, []), "five": (0.4, ["a", "b"])}
    values |= {"other": (0.3, ["b", "c"]), "other_too": (0.5, ["c", "b"])}
    experiments = {
        name: make_experiment(name).model_copy(
            update={"changes": Changes(label="kept", classes=classes)}
        )
        for name, (_, classes) in values.items()
    }
    runs = {name: [make_run(value)] for name, (value, _) in values.items()}
    table = make_table([*values], ["mAP"])
    found = bold(table, make_rows(table, experiments, runs))
    assert [name for name in values if found[f"{name}, kept"]] == ["ten", "other_too"]


def test_a_row_alone_is_not_bold():
    table, experiments = make_table(["cca"]), {"cca": make_experiment("CCA")}
    rows = make_rows(table, experiments, {"cca": [make_run(0.3)]})
    assert not bold(table, rows)["CCA"]


def test_a_row_that_was_not_run_is_empty_and_borrows_nothing():
    experiments = {"cca": make_experiment("CCA", published=PASCAL), "sam": make_experiment("SAM")}
    table = make_table(["cca", "sam"], metrics=["mAP"])
    rows = make_rows(table, experiments, {"sam": [make_run(0.25)]})
    found = parse(to_markdown(table, rows))
    assert column(found, "image-to-text", "mAP published")["CCA"] == "0.203"
    for name in ("seeds", "mAP reproduced", "difference"):
        assert column(found, "image-to-text", name)["CCA"] == ""
    assert column(found, "image-to-text", "mAP reproduced")["SAM"] == "0.250"
    lines = [line for line in to_csv("toy", rows) if line[1] == "cca"]
    assert {
        (line[COLUMNS.index("reproduced")], line[COLUMNS.index("seeds")]) for line in lines
    } == {("", 0)}


def test_the_figures_come_last(two):
    table, rows = two
    last = to_markdown(table, rows, (), table.drawn("toy")).splitlines()[-1]
    assert last == "![Precision-scope curves: Toy](../figures/toy/precision_scope.svg)"


def test_the_csv_has_the_same_numbers_as_the_markdown(two):
    stream = io.StringIO()
    csv.writer(stream).writerows([COLUMNS, *to_csv("toy", two[1])])
    lines = list(csv.DictReader(io.StringIO(stream.getvalue())))
    found = parse(to_markdown(*two))
    for line in lines:
        assert line["table"] == "toy"
        cell = Cell(line["metric"], None, [])
        shown = {k: float(line[k]) if line[k] else None for k in COLUMNS[6:9]}
        columns = found[line["direction"]]
        header = columns[""].values()
        if f"{line['metric']} published" in header:
            published = column(found, line["direction"], f"{line['metric']} published")
            assert published[line["row"]] == cell.show(shown["published"])
            reproduced = column(found, line["direction"], f"{line['metric']} reproduced")
        else:
            assert shown["published"] is None
            reproduced = column(found, line["direction"], line["metric"])
        spread = "" if shown["spread"] is None else f" ± {cell.show(shown['spread'])}"
        assert reproduced[line["row"]] == cell.show(shown["reproduced"]) + spread
    # five rows, three metrics in each direction, one in the average, one for both
    assert len(lines) == 5 * (3 + 3 + 1 + 1)


def test_csv_keeps_all_digits_and_empty_cells(two):
    lines = {(r[1], r[4], r[5]): dict(zip(COLUMNS, r, strict=True)) for r in to_csv("toy", two[1])}
    line = lines["cca", "image-to-text", "mAP"]
    assert line["reproduced"] == pytest.approx(0.5, abs=1e-12)
    assert line["difference"] == pytest.approx(0.297, abs=1e-12)
    assert (line["dataset"], line["row"], line["seeds"]) == ("toy", "CCA", 3)
    line = lines["sam", "image-to-text", "mAP"]
    assert (line["published"], line["spread"], line["difference"]) == ("", "", "")


def labels_of(rows):
    return [(row.dataset, row.label) for row in rows]


SCORERS = ("random", "constant", "perfect")


def test_controls_are_shown_once_for_each_dataset():
    experiments = {
        "a": make_experiment("A"),
        "b": make_experiment("B"),
        "c": make_experiment("C", dataset="other"),
    }
    runs = {name: [make_run(0.5)] for name in experiments}
    rows = make_rows(make_table(["a", "b", "c"]), experiments, runs)
    expected = [("toy", "A"), ("toy", "B"), ("other", "C")]
    for dataset in ("toy", "other"):
        expected += [(dataset, f"({scorer} scores, {dataset})") for scorer in SCORERS]
    assert labels_of(rows) == expected
    assert {row.experiment for row in rows[3:]} == {""}


def test_controls_are_shown_for_each_size_of_the_gallery():
    experiments = {name: make_experiment(name) for name in ("a", "b")}
    runs = {name: [make_run(0.5)] for name in experiments}
    larger = {**make_part(0.5)[DIRECTIONS[0]], "gallery": 25.0}
    runs["b"][0]["test"][DIRECTIONS[0]] = larger
    rows = make_rows(make_table(["a", "b"]), experiments, runs)
    assert [row.label for row in rows[2:]] == [
        f"({scorer} scores, 5 × {gallery} and 5 × 5)" for gallery in (5, 25) for scorer in SCORERS
    ]


def test_controls_are_shown_for_each_protocol():
    experiments = {"a": make_experiment("A"), "b": make_experiment("B", relevance="labels")}
    runs = {name: [make_run(0.5)] for name in experiments}
    rows = make_rows(make_table(["a", "b"]), experiments, runs)
    protocols = ("by category", "by labels")
    assert [row.label for row in rows[2:]] == [
        f"({scorer} scores, {protocol})" for protocol in protocols for scorer in SCORERS
    ]


def test_controls_have_no_published_number(two):
    controls = [row for row in two[1] if not row.experiment]
    assert {cell.published for row in controls for cell in row.cells.values()} == {None}


def test_a_dataset_without_labels_leaves_map_empty():
    experiments = {"a": make_experiment("A"), "b": make_experiment("B", dataset="other")}
    runs = {"a": [make_run(0.5)], "b": [make_run(0.5, labelled=False)]}
    table = make_table(["a", "b"])
    found = parse(to_markdown(table, make_rows(table, experiments, runs)))
    for direction in DIRECTIONS:
        assert column(found, direction, "mAP")["B"] == ""
        assert column(found, direction, "R@1")["B"] == "50.0"
    assert "B" not in found["average"]


def test_a_deterministic_row_says_so_next_to_its_number_of_seeds(two):
    table, _ = two
    experiments = {"cca": make_experiment("CCA"), "sam": make_experiment("SAM")}
    runs = {name: [make_run(0.25)] for name in experiments}
    rows = make_rows(table, experiments, runs, ["cca"])
    for direction in DIRECTIONS:
        seeds = column(parse(to_markdown(table, rows)), direction, "seeds")
        assert (seeds["CCA"], seeds["SAM"]) == ("1 (deterministic)", "1")


def test_a_cited_row_has_published_numbers_and_no_others(two):
    table, _ = two
    cited = table.model_copy(update={"experiments": ["sam"], "cited": cite("CCA, cited")})
    rows = make_rows(cited, {"sam": make_experiment("SAM")}, {"sam": [make_run(0.25)]})
    assert [row.label for row in rows][:2] == ["SAM", "CCA, cited"]
    found = parse(to_markdown(cited, rows))
    for direction, value in PUBLISHED.items():
        published = column(found, direction, "mAP published")
        assert published["CCA, cited"] == f"{value:.3f}"
        assert column(found, direction, "mAP reproduced")["CCA, cited"] == ""
        assert column(found, direction, "seeds")["CCA, cited"] == ""


def test_systems_of_today_stand_last_without_a_number_of_ours(two):
    table, _ = two
    today = table.model_copy(update={"external": "Flickr30K", "metrics": ["R@1"]})
    experiments = {name: make_experiment(name) for name in ("cca", "sam")}
    runs = {name: [make_run(0.25)] for name in experiments}
    rows = make_rows(today, experiments, runs)
    labels = [row.label for row in rows]
    assert labels[-4] == "(perfect scores)"
    assert labels[-3] == "(today: CLIP ViT-B/32, zero-shot)"
    found = parse(to_markdown(today, rows))
    for direction, value in {"image-to-text": "78.9", "text-to-image": "58.8"}.items():
        assert column(found, direction, "R@1 published")[labels[-3]] == value
        assert column(found, direction, "R@1 reproduced")[labels[-3]] == ""
    assert not any(row.compared for row in rows[-3:])


def ranked(metric, values):
    """Labels of a ranked table by direction; `values` are those of both, by label."""
    runs = {}
    for label, both in values.items():
        run = make_run(0.3)
        for direction, value in zip(DIRECTIONS, both, strict=True):
            run["test"][direction] = run["test"][direction] | {metric: value}
        runs[label] = [run]
    experiments = {label: make_experiment(label) for label in values}
    table = Table(
        title="Toy",
        experiments=list(values),
        metrics=[metric],
        ranked=True,
        cited=cite("Cited"),
    )
    found = parse(to_markdown(table, make_rows(table, experiments, runs)))
    return {direction: [label for label in rows if label] for direction, rows in found.items()}


def test_ranked_table_has_the_best_first_per_direction():
    found = ranked("mAP", {"CCA": (0.3, 0.4), "CFA": (0.5, 0.2), "SAM": (0.6, 0.5)})
    below = ["Cited", "(random scores)", "(constant scores)", "(perfect scores)"]
    assert found["image-to-text"] == ["SAM", "CFA", "CCA", *below]
    assert found["text-to-image"] == ["SAM", "CCA", "CFA", *below]


def test_the_least_rank_is_the_best():
    found = ranked("MedR", {"CCA": (3.0, 5.0), "SAM": (2.0, 9.0)})
    assert found["image-to-text"][:2] == ["SAM", "CCA"]
    assert found["text-to-image"][:2] == ["CCA", "SAM"]


def test_a_number_has_its_published_note():
    cited = Cited(paper="FNE", table="Table 2", dataset="Flickr8K", methods=["FV"])
    table = make_table(["cca"], ["R@1"]).model_copy(update={"cited": cited})
    rows = make_rows(table, {"cca": make_experiment("CCA")}, {"cca": [make_run(0.25)]})
    notes = {row.label: row.cells["image-to-text", "R@1"].note for row in rows}
    assert "the two directions look swapped" in notes.pop("FV")
    assert not any(notes.values())
