"""Learning curve and precision-scope curve of one experiment, for figures and `dvc plots`."""

from pathlib import Path

from crossmodal.io.files import write_csv
from crossmodal.learning.curve import LearningCurve
from crossmodal.reporting.curves import learning_columns, learning_curve, precision_curve
from crossmodal.reporting.run_metrics import read_metrics
from crossmodal.workflow.records import verified


def average_curves(learning: Path, precision: Path, runs: list[Path], models: Path) -> None:
    """Write both curves as CSV, averaged over the seeds.

    Args:
        learning: The learning curve.
        precision: The precision-scope curve.
        runs: Metrics of all seeds: <experiment>/seed<n>.json.
        models: Folder of models: <experiment>/seed<n>/curve.csv.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """
    fits = [models / path.parent.name / path.stem / "curve.csv" for path in runs]
    verified([*runs, *fits])
    metrics = [read_metrics(path) for path in runs]
    trained = [LearningCurve.read(path).with_gap() for path in fits]
    write_csv(learning, learning_columns(trained), learning_curve(trained, metrics))
    columns = precision_curve(metrics)
    write_csv(precision, list(columns), zip(*columns.values(), strict=True))
