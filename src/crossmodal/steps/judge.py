"""Write judgements that were published with a dataset as qrels."""

from pathlib import Path

from crossmodal.config import plugins
from crossmodal.data.qrels import write_qrels
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.steps.prepare import CHECKED
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import PrepareSpec


def judge(spec: PrepareSpec, raw: Path, output: Path) -> None:
    """Write a CSV of query, document and grade.

    Args:
        spec: The dataset's plug-in and options.
        raw: Folder of the published files.
        output: The CSV, called like the qrels.

    Raises:
        CrossmodalError: If the dataset has no such qrels, or a file is not as published.
    """
    where, name = f"datasets.{spec.plugin}", output.stem
    dataset = plugins.make("datasets", spec.plugin, spec.options, where)
    if name not in dataset.qrels:
        raise CrossmodalError(f"{where}: qrels: {unknown(name, dataset.qrels)}")
    verified(raw / file for file in dataset.qrels[name] if Path(file).suffix not in CHECKED)
    write_qrels(output, dataset.judge(name, raw))
