from crossmodal.reporting.draw_forest import Bar, draw_forest

BARS = [Bar("A is better", 2.0, (1.0, 3.0), "holds"), Bar("A is better", -1.0, (-2.0, 0.5), "open")]


def test_forest_names_lines_once_and_kinds_in_its_legend(tmp_path):
    path = tmp_path / "forest.svg"
    draw_forest(path, {"SAM": BARS, "FNE": BARS[:1], "VASE": BARS[1:]}, "points")
    text = path.read_text()
    assert text.count("A is better") == 3  # in each panel
    assert all(f">{word}<" in text for word in ("SAM", "FNE", "VASE", "holds", "open"))


def test_forest_without_bars_is_an_empty_figure(tmp_path):
    draw_forest(tmp_path / "forest.svg", {}, "points")
    assert "<svg" in (tmp_path / "forest.svg").read_text()
