"""Commands that run the workflow, and look after its outputs."""

from pathlib import Path
from typing import Annotated

import typer

from crossmodal.cli.arguments import (
    NO_FILES,
    PARAMS,
    Json,
    Overlays,
    Params,
    complete_dataset,
    completion,
)

WORKFLOW = "Workflow"
app = typer.Typer()
cleaning = typer.Typer(help="Remove files that can be downloaded or computed again.")
app.add_typer(
    cleaning,
    name="clean",
    rich_help_panel=WORKFLOW,
    short_help="Remove files that can be made again",
)


@app.command(
    context_settings={"ignore_unknown_options": True},
    rich_help_panel=WORKFLOW,
    short_help="Make files with Snakemake, in any folder",
    epilog="Example: crossmodal run results/tables/all.md --cores 8",
)
def run(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="Files to make, and options of Snakemake as `--cores 8`."),
    ] = None,
) -> None:
    """Make files with Snakemake, in any folder, for example results/tables/all.md.

    Alone, make and print the table that `crossmodal init` set up last, and
    pages of its good and bad searches.

    Without a params.yaml in the folder, that of the package is used. Without
    `--configfile`, <name>.yaml is laid over it for results/tables/<name>.md.
    """
    from crossmodal.commands.run import run as run_

    run_(arguments or [])


@cleaning.command(epilog="Example: crossmodal clean raw flickr8k")
def raw(
    dataset: Annotated[
        str,
        typer.Argument(help="Key of `datasets`; it is prepared.", autocompletion=complete_dataset),
    ],
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Remove the published files of a prepared dataset to free disk space.

    The prepared dataset must be complete and unchanged. No job runs again because of it; a job that
    needs the files downloads them again.
    """
    from crossmodal.commands.clean import clean_raw as run

    run(dataset, params, configfile)


@app.command(
    rich_help_panel=WORKFLOW,
    short_help="Estimate time, memory and disk of a suite",
    epilog="Example: crossmodal plan",
)
def plan(
    suite: Annotated[
        str | None,
        typer.Option(
            help="Key of `suites`; by default the value of `suite`.",
            autocompletion=completion("suites"),
        ),
    ] = None,
    as_json: Json = False,
    params: Params = PARAMS,
    configfile: Overlays = NO_FILES,
) -> None:
    """Estimate run time, memory and disk of a suite, by phase.

    Estimates come from measured jobs where there are any, else from the size of their inputs.
    """
    from crossmodal.commands.plan import plan as run

    run(suite, as_json, params, configfile)


@app.command(
    rich_help_panel=WORKFLOW,
    short_help="Pull outputs with DVC, and verify them",
    epilog="Example: crossmodal pull results",
)
def pull(
    outputs: Annotated[
        list[str], typer.Argument(help="Outputs in dvc.lock, for example `features`; default: all.")
    ] = [],  # noqa: B006 - Typer copies it
) -> None:
    """Pull outputs with DVC, and verify the checksum of each file against dvc.lock.

    Afterwards `snakemake` and `dvc repro` run only the jobs of missing or outdated files.
    """
    from crossmodal.workflow.sharing import pull as run

    run(outputs)


@app.command(
    rich_help_panel=WORKFLOW,
    short_help="Print what an output was made of",
    epilog="Example: crossmodal why results/tables/scenes_category.md",
)
def why(
    path: Annotated[Path, typer.Argument(help="An output, for example results/tables/all.md.")],
) -> None:
    """Print the provenance of an output: code, versions, device and inputs, down to raw files."""
    from crossmodal.commands.why import why as run

    run(path)
