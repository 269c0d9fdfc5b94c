"""The command line: commands for people, and the steps that Snakemake calls.

Each command imports the function that does its work when it is called, so that help and completion
are fast.
"""

import importlib.metadata
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from crossmodal.cli import fitted_models, pipeline, project, results, workflow
from crossmodal.cli.late_compiler import put_off_compiler
from crossmodal.cli.memory import keep_freed_memory
from crossmodal.errors import explained
from crossmodal.io import checkpoints
from crossmodal.repeatability import use_one_thread

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for part in (project, workflow, fitted_models, pipeline, results):
    app.add_typer(part.app)


def _print_version(requested: bool) -> None:
    if requested:
        print(importlib.metadata.version("crossmodal-retrieval"))
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, help="Print the version.")
]


@app.callback()
def options(version: Version = False) -> None:
    """Cross-modal retrieval, from raw data to tables of published and reproduced numbers.

    To run the complete workflow: `snakemake --cores 8 results/tables/all.md`.
    Its rules are commands, too: `crossmodal train -h` explains that of `train`.
    """


def main() -> None:
    """Run the command line; an error meant for the user is one message without a traceback."""
    use_one_thread()
    keep_freed_memory()
    put_off_compiler()
    if place := os.environ.get("CROSSMODAL_CHECKPOINTS"):
        checkpoints.FOLDER = Path(place)
    # clusters end jobs by SIGTERM: exit, so that temporary files are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        app()
    except Exception as error:
        if not (message := explained(error)):
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
