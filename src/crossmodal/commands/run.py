"""Run Snakemake with the workflow that comes with this package, in the working folder."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from crossmodal.config.workflow_files import folder
from crossmodal.errors import CrossmodalError

TABLES = Path("results/tables")


def run(arguments: Sequence[str]) -> None:
    """Become Snakemake.

    Args:
        arguments: Targets and options of Snakemake.

    Raises:
        CrossmodalError: If Snakemake is not installed.
    """
    if not find_spec("snakemake"):
        raise CrossmodalError(
            'Snakemake is not installed: run `pip install "crossmodal-retrieval[workflow]"`'
        )
    # jobs start `python`, also where the environment is not activated
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    snakefile = ["--snakefile", str(folder() / "Snakefile")]
    command = [sys.executable, "-m", "snakemake", *snakefile, *arguments, *_overlay(arguments)]
    sys.stdout.flush()
    os.execv(sys.executable, command)


def _overlay(arguments: Sequence[str]) -> list[str]:
    """Return options that lay <name>.yaml over params.yaml for the table <name>."""
    if any(each.startswith("--configfile") for each in arguments):
        return []
    tables = [Path(each) for each in arguments if Path(each).parent == TABLES]
    overlays = [f"{table.stem}.yaml" for table in tables if Path(f"{table.stem}.yaml").exists()]
    return ["--configfile", *overlays] if overlays else []
