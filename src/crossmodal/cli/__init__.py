"""The command line: what people call in `people`, what Snakemake calls in `plumbing`."""

import importlib.metadata
import signal
import sys
from typing import Annotated, Any

import typer

from crossmodal.cli import people, plumbing
from crossmodal.errors import CrossmodalError
from crossmodal.repeatability import use_one_thread

# what the system and PyTorch say, which each library wraps in an error of its own -> what to do
REMEDIES = {
    "No space left on device": "free some space",
    "Disk quota exceeded": "free some space",
    # NumPy, where a file became shorter than it should be
    " requested and ": "No space left on device: free some space",
    "Read-only file system": "make it writable",
    "Permission denied": "allow it",
    "t allocate memory": "give it more memory",
    "Unable to allocate": "give it more memory",
    "AF_UNIX path too long": "let TMPDIR have at most 70 characters",  # sockets of processes
    "does not have a deterministic implementation": "set `deterministic: false` in params.yaml",
}
app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.add_typer(people.app)
app.add_typer(plumbing.app)


def _show_version(asked: bool) -> None:
    if asked:
        print(importlib.metadata.version("crossmodal"))
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
    except CrossmodalError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        advice = next((advice for said, advice in REMEDIES.items() if said in str(error)), None)
        if not advice:
            raise
        print(f"error: {error}; {advice} and run the same command again", file=sys.stderr)
        sys.exit(1)
