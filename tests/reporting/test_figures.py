import xml.etree.ElementTree as ElementTree

import numpy as np
from matplotlib import pyplot as plt

from crossmodal.reporting import figures
from crossmodal.reporting.figures import Group, Line, draw_lines, draw_matrix, draw_points

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


def test_lines_that_share_a_colour_differ_in_their_dashes(tmp_path):
    many = [Line(str(n), [1.0, 2.0], [0.0, float(n)]) for n in range(11)]
    assert "stroke-dasharray" not in draw(tmp_path / "ten.svg", many[:10]).read_text()
    assert "stroke-dasharray" in draw(tmp_path / "eleven.svg", many).read_text()


def test_matrix_figure_has_labels_and_follows_values(tmp_path):
    paths = [tmp_path / name for name in ("first.svg", "again.svg", "moved.svg")]
    for path, last in zip(paths, (1.0, 1.0, 0.5), strict=True):
        draw_matrix(path, np.diag([1.0, 2.0, last]), "Toy", ("clips", "images"))
    first, again, moved = (path.read_bytes() for path in paths)
    assert first == again != moved
    for label in (b"Toy", b"clips", b"images"):
        assert label in first


def test_long_titles_do_not_reach_the_legend(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(figures, "save", lambda figure, path: kept.append(figure))
    title = "Flickr8k with synthetic speech, images and captions spoken by a machine"
    label = "SAM without schedule and centroids"
    draw_lines(tmp_path / "lines.svg", [Line(label, [1.0, 2.0], [1.0, 2.0])], title, ("x", "y"))
    draw_points(tmp_path / "points.svg", {label: Group(np.eye(2), "o", 0)}, title)
    for figure in kept:
        figure.draw_without_rendering()
        (area,), (legend,) = figure.axes, figure.legends
        assert area.title.get_window_extent().x1 < legend.get_window_extent().x0
        plt.close(figure)
