"""The command line: what people call in `people`, what Snakemake calls in `plumbing`."""

import importlib.metadata
import signal
import sys
from typing import Annotated, Any

import typer

from crossmodal.cli import pipeline as plumbing
from crossmodal.cli import user as people
from crossmodal.errors import explained
from crossmodal.repeatability import use_one_thread

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.add_typer(people.app)
app.add_typer(plumbing.app)


def _show_version(asked: bool) -> None:
    if asked:
        print(importlib.metadata.version("crossmodal-retrieval"))
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, help="Show the version.")
]


@app.callback()
def options(version: Version = False) -> None:
    """From raw data to tables of published next to reproduced numbers.

    The complete workflow is `snakemake --cores 8 results/tables/all.md`.
    """


def main() -> Any:
    """Run the command line; errors meant for the user are one message without a traceback."""
    use_one_thread()
    # how a cluster ends jobs: exit, so that no temporary file stays
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return app()
    except Exception as error:
        if not (message := explained(error)):
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
