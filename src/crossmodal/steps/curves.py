"""Learning curve and precision-scope curve of one experiment, for figures and `dvc plots`."""

from pathlib import Path

from crossmodal.evaluation.curves import LEARNING, PRECISION, learning_curve, precision_curve
from crossmodal.files import read_csv, read_json, write_csv


def curves(learning: Path, precision: Path, runs: list[Path], models: Path) -> None:
    """Write both curves as CSV, averaged over the seeds.

    Args:
        learning: The learning curve.
        precision: The precision-scope curve.
        runs: Metrics of all seeds: <experiment>/seed<n>.json.
        models: Folder of models: <experiment>/seed<n>/curve.csv.

    Raises:
        CrossmodalError: If a file is missing or damaged.
    """
    metrics = [read_json(path) for path in runs]
    fits = [models / path.parent.name / path.stem / "curve.csv" for path in runs]
    trained = [read_csv(path, []) for path in fits]
    write_csv(learning, LEARNING, learning_curve(trained, metrics))
    write_csv(precision, PRECISION, precision_curve(metrics))
