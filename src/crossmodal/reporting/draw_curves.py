"""Learning curves and precision-scope curves of a table's experiments."""

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from crossmodal.data.prepared import Prepared
from crossmodal.data.split import label_names
from crossmodal.io.files import read_csv
from crossmodal.reporting.curves import CHANCE, LEARNING, PRECISION, SPREAD
from crossmodal.reporting.figures import Line, Points, draw_panels
from crossmodal.workflow.report_specs import Curve, Curves

RULES = {
    "category": "relevant: same category",
    "labels": "relevant: a label in common",
    "item": "relevant: same item",
}
MAP = "mAP (0 to 1), mean of both directions"


def draw_curves(spec: Curves, output: Path, inputs: list[Path]) -> Points:
    """Draw the learning or the precision-scope curves of a table's experiments.

    Args:
        spec: Title of the table, and its experiments.
        output: The SVG, with a panel for each score or direction; a PDF is written beside it.
        inputs: Of each experiment <kind>/<experiment>.csv, of each dataset <dataset>/items.csv.

    Returns:
        The points: panel, line, x, y, spread.
    """
    paths = {(path.parent.name, path.stem): path for path in inputs}
    rules = {one.name: _rule(one, paths[one.dataset, "items"]) for one in spec.experiments}
    rows = {one.name: read_csv(paths[spec.curve, one.name], []) for one in spec.experiments}
    title = f"{spec.title} ({', '.join(dict.fromkeys(one.dataset for one in spec.experiments))}; "
    if spec.curve == "learning":
        panels = _learning(spec.experiments, rows, rules)
        axes = ("share of the training (0 to 1)", "score")
        draw_panels(
            output, panels, f"{title}validation split)", axes, logarithmic=False, shared=False
        )
    else:
        panels = _precision(spec.experiments, rows)
        title += f"test split; {', '.join(dict.fromkeys(rules.values()))})"
        axes = ("scope: documents shown", "precision")
        draw_panels(output, panels, title, axes, logarithmic=True, shared=True)
    points = (
        (panel, line.label, *point)
        for panel, lines in panels.items()
        for line in lines
        for point in zip_longest(line.x, line.y, line.spread, fillvalue="")
    )
    return ["panel", "line", "x", "y", "spread"], points


def _learning(
    experiments: list[Curve], rows: dict[str, list[dict[str, str]]], rules: dict[str, str]
) -> dict[str, list[Line]]:
    """Return the lines of each score by the training's share."""
    panels: dict[str, list[Line]] = {}
    for one in experiments:
        line = _line(one, rows[one.name], LEARNING[0], LEARNING[1])
        by_label = one.task == "category" and rules[one.name] != RULES["item"]
        score = f"{MAP}\n{rules[one.name]}" if by_label else f"rsum (%)\n{RULES['item']}"
        panels.setdefault(score, []).append(_whole(line))
    return panels


def _precision(
    experiments: list[Curve], rows: dict[str, list[dict[str, str]]]
) -> dict[str, list[Line]]:
    """Return the lines of each direction by scope, and levels of chance."""
    panels: dict[str, list[Line]] = {}
    chance: dict[str, set[float]] = {}
    for one in experiments:
        first = rows[one.name][0]
        for direction in (n.removeprefix(CHANCE) for n in sorted(first) if n.startswith(CHANCE)):
            line = _line(one, rows[one.name], PRECISION[0], direction)
            panels.setdefault(direction, []).append(line)
            chance.setdefault(direction, set()).add(round(float(first[CHANCE + direction]), 3))
    return {
        direction: [
            *panels[direction],
            *(Line(f"chance, {level:g}", [0.0], [level]) for level in sorted(chance[direction])),
        ]
        for direction in sorted(panels)
    }


def _rule(experiment: Curve, items: Path) -> str:
    """Return what is relevant: the own item where no item has a label."""
    labelled = label_names(Prepared(items.parent), experiment.relevance)
    return RULES[experiment.relevance if labelled else "item"]


def _line(experiment: Curve, rows: list[dict[str, str]], x: str, y: str) -> Line:
    """Return a column against another, with its spread if it has one everywhere."""
    spread = [row.get(SPREAD + y, "") for row in rows]
    positions, values = ([float(row[name]) for row in rows] for name in (x, y))
    spreads = [float(s) for s in spread] if all(spread) else []
    return Line(experiment.label, positions, values, spreads, experiment.method)


def _whole(line: Line) -> Line:
    """Return the line with the training from 0 to 1, since epochs and triplets meet on one axis."""
    return replace(line, x=[x / (line.x[-1] or 1) for x in line.x])
