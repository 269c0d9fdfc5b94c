"""Places of Snakefile, rules, params.yaml and experiments/: a checkout, or the installed package.

An installed package has a copy of them, made when it was built. What is in the working folder comes
first, so that a project may have a params.yaml of its own.
"""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CHECKOUT, INSTALLED = PACKAGE.parents[1], PACKAGE / "workflow_files"
PARAMS = "params.yaml"


def folder() -> Path:
    """Return the folder that has the Snakefile."""
    return CHECKOUT if (CHECKOUT / "Snakefile").is_file() else INSTALLED


def params_file() -> Path:
    """Return params.yaml of the working folder, or the one that comes with the workflow."""
    return Path(PARAMS) if Path(PARAMS).exists() else folder() / PARAMS


def project_of(params: Path) -> Path:
    """Return the folder of the project that a params.yaml is of."""
    return Path() if params == folder() / PARAMS else params.parent


def seen(path: Path) -> str:
    """Return a path from the working folder, if it is inside of it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def program() -> str:
    """Return the program that makes files, for messages: in a checkout it is Snakemake."""
    return "snakemake" if Path("Snakefile").exists() else "crossmodal run"
