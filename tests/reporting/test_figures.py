import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt

from crossmodal.io.files import write_csv
from crossmodal.reporting import draw_forest, draw_margins, figures
from crossmodal.reporting.draw_forest import Bar
from crossmodal.reporting.figures import (
    Group,
    Line,
    draw_lines,
    draw_matrix,
    draw_panels,
    draw_points,
)
from crossmodal.workflow.report_specs import Margins

LINES = [Line("CCA", [0.0], [0.3]), Line("SAM & co", [1.0, 10.0, 100.0], [0.2, 0.4, 0.5])]


def draw(path, lines=LINES):
    draw_lines(path, lines, "Toy", ("scope", "precision"), logarithmic=True)
    return path


def texts(path):
    nodes = ElementTree.parse(path).iter()
    return {"".join(node.itertext()).strip() for node in nodes if node.tag.endswith("}text")}


def test_labels_are_text_in_a_well_formed_svg(tmp_path):
    shown = texts(draw(tmp_path / "figures" / "toy.svg"))
    assert {"Toy", "scope", "precision", "CCA", "SAM & co"} <= shown


def test_a_logarithmic_axis_names_the_positions_of_the_points(tmp_path):
    shown = texts(draw(tmp_path / "toy.svg", [Line("beta", [5.0, 40.0, 114.78], [1.0, 2.0, 3.0])]))
    assert {"5", "40", "114.78"} <= shown
    assert "10" not in shown


def test_equal_data_give_equal_bytes_and_other_data_do_not(tmp_path):
    first, again = (draw(tmp_path / name).read_bytes() for name in ("first.svg", "again.svg"))
    assert first == again
    moved = [LINES[0], Line("SAM & co", [1.0, 10.0, 100.0], [0.2, 0.4, 0.6])]
    assert draw(tmp_path / "moved.svg", moved).read_bytes() != first


def test_matrix_figure_has_labels_and_follows_values(tmp_path):
    paths = [tmp_path / name for name in ("first.svg", "again.svg", "moved.svg")]
    for path, last in zip(paths, (1.0, 1.0, 0.5), strict=True):
        draw_matrix(path, np.diag([1.0, 2.0, last]), "Toy", ("clips", "images"))
    first, again, moved = (path.read_bytes() for path in paths)
    assert first == again != moved
    for label in (b"Toy", b"clips", b"images"):
        assert label in first


def test_pdf_beside_svg_of_equal_data_has_equal_bytes(tmp_path):
    first, again = (draw(tmp_path / name).with_suffix(".pdf") for name in ("a.svg", "b.svg"))
    assert first.read_bytes().startswith(b"%PDF")
    assert first.read_bytes() == again.read_bytes()


def named(count):
    return [f"SAM without schedule and centroids, variant {n} of many" for n in range(count)]


def lines(count):
    return [
        Line(name, [1.0, 2.0, 4.0], [0.1, n, 0.5], method=n) for n, name in enumerate(named(count))
    ]


def draw_kind(kind, count, path):
    """Draw a figure of `count` entries."""
    axes, title = ("scope", "precision"), "Flickr8k with synthetic speech, " * 4
    match kind:
        case "lines":
            draw_lines(path, lines(count), title, axes)
        case "panels":
            panels = {heading: lines(count) for heading in ("a-to-b", "b-to-a")}
            draw_panels(path, panels, title, axes, logarithmic=True, shared=True)
        case "panel":
            draw_panels(path, {"mAP": lines(count)}, title, axes, logarithmic=False, shared=False)
        case "points":
            groups = {name: Group(np.eye(2), "o", n) for n, name in enumerate(named(count))}
            draw_points(path, groups, title)
        case "matrix":
            draw_matrix(path, np.eye(count), title, axes)
        case "margins":
            pairs = [f"margin {a} | {b}" for a in named(count) for b in named(count) if a < b]
            rows = [[epoch, 0.5, 1.0, *[0.1] * len(pairs)] for epoch in range(3)]
            curve = path.with_suffix(".csv")
            write_csv(curve, ["epoch", "alpha", "margin", *pairs[:60]], [r[:63] for r in rows])
            draw_margins.draw_margins(Margins(title=title), path, [curve])
        case "forest":
            bars = [Bar(name, 1.0, (0.5, 2.0), "holds") for name in named(count)]
            draw_forest.draw_forest(path, {"SAM": bars, "FNE": bars[:1]}, "points")


@pytest.mark.parametrize("count", [1, 7, 25])
@pytest.mark.parametrize(
    "kind", ["lines", "panels", "panel", "points", "matrix", "margins", "forest"]
)
def test_nothing_covers_another(tmp_path, monkeypatch, kind, count):
    drawn = []
    for module in (figures, draw_margins, draw_forest):
        monkeypatch.setattr(module, "save", lambda figure, path: drawn.append(figure))
    draw_kind(kind, max(count, 2) if kind == "margins" else count, tmp_path / "toy.svg")
    (figure,) = drawn
    figure.draw_without_rendering()
    boxes = [area.get_tightbbox() for area in figure.axes if area.get_visible() and area.axison]
    outside = [legend.get_window_extent() for legend in figure.legends]
    outside += [figure._suptitle.get_window_extent()] if figure._suptitle else []
    texts = [t.get_window_extent() for area in figure.axes for t in area.texts]
    plt.close(figure)
    for first, second in itertools.combinations([*boxes, *outside], 2):
        if {*map(id, (first, second))} & {*map(id, outside)}:
            assert not first.overlaps(second)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(texts, 2))
    for box in (*boxes, *outside, *texts):
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1
