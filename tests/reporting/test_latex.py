from crossmodal.config.table import Table
from crossmodal.reporting.latex import to_latex
from crossmodal.reporting.rows import Cell, Row

TABLE = Table(title="A & B", experiments=["a", "b"], metrics=["mAP"])


def make_row(name, label, *values):
    cells = {("image-to-text", "mAP"): Cell("mAP", 0.5, [*values])}
    return Row(name, label, "toy", cells, test=("toy",))


def test_latex_has_the_cells_of_the_table():
    rows = [make_row("a", "A_1", 0.2, 0.4), make_row("b", "50 % of B", 0.25)]
    text = to_latex("toy", TABLE, rows)
    assert r"\caption{A \& B}" in text
    assert r" & seeds & mAP published & mAP reproduced & difference \\" in text
    assert r"A\_1 & 2 & 0.500 & \textbf{0.300 $\pm$ 0.141} & $-$0.200 \\" in text
    assert r"50 \% of B & 1 & 0.500 & 0.250 & $-$0.250 \\" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == 1


def test_latex_braces_are_balanced():
    text = to_latex("toy", TABLE, [make_row("a", "{x}^2 \\ ~", 0.1)])
    assert r"\{x\}\textasciicircum{}2 \textbackslash{} \textasciitilde{}" in text
    assert text.count(r"\begin") == text.count(r"\end")


def test_latex_has_signs_that_its_old_fonts_lack():
    text = to_latex("toy", TABLE, [make_row("a", "a|b, 1 < 2 > 0", 0.1)])
    assert r"a\textbar{}b, 1 \textless{} 2 \textgreater{} 0 & 1 &" in text
