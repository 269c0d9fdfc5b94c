"""Draw a figure."""

from collections.abc import Callable
from pathlib import Path

from crossmodal.io.files import write_csv
from crossmodal.reporting.draw_curves import draw_curves
from crossmodal.reporting.draw_map import draw_map
from crossmodal.reporting.draw_margins import draw_margins
from crossmodal.reporting.draw_similarity import draw_similarity
from crossmodal.reporting.draw_sweep import draw_sweep
from crossmodal.reporting.figures import Points
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import DrawSpec

KINDS: dict[str, Callable[..., Points]] = {
    "curves": draw_curves,
    "map": draw_map,
    "margins": draw_margins,
    "similarity": draw_similarity,
    "sweep": draw_sweep,
}


def draw(spec: DrawSpec, output: Path, points: Path, inputs: list[Path]) -> None:
    """Write a figure as SVG and PDF, and its numbers as CSV.

    Args:
        spec: What is drawn.
        output: The SVG, beside which the PDF is written.
        points: The CSV, whose columns depend on the kind of figure.
        inputs: Metrics, curves or embeddings of the experiments shown, and the labels of datasets.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """
    verified(inputs)
    write_csv(points, *KINDS[spec.drawing.kind](spec.drawing, output, inputs))
