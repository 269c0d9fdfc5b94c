"""Figures of one table: learning curves and precision-scope curves of its experiments."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from crossmodal.data.prepared import Prepared
from crossmodal.data.split import label_names
from crossmodal.io.files import read_csv
from crossmodal.reporting.curves import CHANCE, LEARNING, PRECISION, SPREAD
from crossmodal.reporting.figures import Line, draw_panels
from crossmodal.workflow.records import verified

RULES = {
    "category": "relevant: same category",
    "labels": "relevant: a label in common",
    "item": "relevant: same item",
}
MAP = "mAP, mean of both directions"


def draw_curves(spec: dict[str, Any], learning: Path, precision: Path, inputs: list[Path]) -> None:
    """Draw both figures.

    Args:
        spec: `title` of the table; `experiments`, each with its `name`, the `label` in the legend,
            the `dataset`, the `relevance`, and the `task` of its method.
        learning: SVG of the learning curves, a panel for each score.
        precision: SVG of the precision-scope curves, a panel for each direction.
        inputs: Of each experiment learning/<experiment>.csv, precision_scope/<experiment>.csv; of
            each dataset <dataset>/items.csv.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """
    verified(inputs)
    paths, shown = {(path.parent.name, path.stem): path for path in inputs}, spec["experiments"]
    rules = {one["name"]: _rule(one, paths[one["dataset"], "items"]) for one in shown}
    title = f"{spec['title']} ({', '.join(dict.fromkeys(one['dataset'] for one in shown))}; "
    scores: dict[str, list[Line]] = {}
    for one in shown:
        rows = read_csv(paths["learning", one["name"]], LEARNING)
        line = _line(one["label"], rows, LEARNING[0], LEARNING[1])
        by_label = one["task"] == "category" and rules[one["name"]] != RULES["item"]
        score = f"{MAP}\n{rules[one['name']]}" if by_label else f"rsum\n{RULES['item']}"
        scores.setdefault(score, []).append(_whole(line))
    axes = ("share of the training", "score")
    said = f"{title}validation split)"
    draw_panels(learning, scores, said, axes, logarithmic=False, shared=False)
    panels: dict[str, list[Line]] = {}
    chance: dict[str, set[float]] = {}
    for one in shown:
        rows = read_csv(paths["precision_scope", one["name"]], PRECISION)
        for direction in sorted(name for name in rows[0] if name.startswith(CHANCE)):
            direction = direction.removeprefix(CHANCE)
            line = _line(one["label"], rows, PRECISION[0], direction)
            panels.setdefault(direction, []).append(line)
            chance.setdefault(direction, set()).add(round(float(rows[0][CHANCE + direction]), 3))
    for direction, levels in chance.items():
        panels[direction] += [
            Line(f"chance, {level:g}", [0.0], [level]) for level in sorted(levels)
        ]
    axes = ("scope: documents shown", "precision")
    said = f"{title}test split; {', '.join(dict.fromkeys(rules.values()))})"
    draw_panels(precision, dict(sorted(panels.items())), said, axes, logarithmic=True, shared=True)


def _rule(experiment: dict[str, Any], items: Path) -> str:
    """What is relevant; where no item has a label, the own item is."""
    labelled = label_names(Prepared(items.parent), experiment["relevance"])
    return RULES[experiment["relevance"] if labelled else "item"]


def _line(label: str, rows: list[dict[str, str]], x: str, y: str) -> Line:
    """A column against another, with its spread if it has one everywhere."""
    spread = [row.get(SPREAD + y) for row in rows]
    columns = [[float(row[name]) for row in rows] for name in (x, y)]
    return Line(label, *columns, [float(s) for s in spread] if all(spread) else [])


def _whole(line: Line) -> Line:
    """The training from 0 to 1, since epochs and triplets meet on one axis."""
    return replace(line, x=[x / (line.x[-1] or 1) for x in line.x])
