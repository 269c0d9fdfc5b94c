from crossmodal.reporting.notes import notes
from crossmodal.reporting.rows import Cell, Row


def make_row(label, **said):
    """A row with R@1 and R@10 published in one direction; `said` are their notes."""
    cells = {
        ("image-to-text", metric): Cell(metric, 5.0, [], said.get(name, ""))
        for name, metric in (("first", "R@1"), ("tenth", "R@10"))
    }
    return Row("", label, "toy", cells)


def test_a_note_is_said_once_with_all_its_rows():
    rows = [make_row(label, first="one model", tenth="one model") for label in ("A", "B")]
    assert notes([*rows, make_row("C")]) == ["Notes on published numbers: one model: A, B."]


def test_numbers_are_named_where_a_note_is_not_on_all_of_a_row():
    (found,) = notes([make_row("A", first="as printed", tenth="lost"), make_row("B", tenth="lost")])
    assert found == (
        "Notes on published numbers: as printed: A (image-to-text R@1); "
        "lost: A (image-to-text R@10), B (image-to-text R@10)."
    )


def test_no_note_without_a_reason_or_published_number():
    unpublished = Row("a", "A", "toy", {("both", "rsum"): Cell("rsum", None, [1.0], "a note")})
    assert notes([make_row("B"), unpublished]) == []
