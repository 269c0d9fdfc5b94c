"""Run Snakemake with the workflow that comes with this package, in the working folder."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from crossmodal.config import params
from crossmodal.config.experiment import Experiment
from crossmodal.config.workflow_files import folder, params_file
from crossmodal.data.prepared import PREPARED, Prepared
from crossmodal.errors import CrossmodalError

TABLES, EXAMPLES = Path("results/tables"), Path("results/examples")


def run(arguments: Sequence[str]) -> None:
    """Become Snakemake; without arguments, make the newest table of one's own, and print it.

    Args:
        arguments: Targets and options of Snakemake.

    Raises:
        CrossmodalError: If Snakemake is not installed, or without arguments no file of the working
            folder has a table.
    """
    if not find_spec("snakemake"):
        raise CrossmodalError(
            'Snakemake is not installed: run `pip install "crossmodal-retrieval[workflow]"`'
        )
    # jobs start `python`, also where the environment is not activated
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    snakefile = ["--snakefile", str(folder() / "Snakefile")]
    command = [sys.executable, "-m", "snakemake", *snakefile]
    sys.stdout.flush()
    if arguments:
        os.execv(sys.executable, [*command, *arguments, *_overlay(arguments)])
    else:
        _run_own(command)


def _overlay(arguments: Sequence[str]) -> list[str]:
    """Return options that lay <name>.yaml over params.yaml for the table <name>."""
    if any(each.startswith("--configfile") for each in arguments):
        return []
    tables = [Path(each) for each in arguments if Path(each).parent == TABLES]
    overlays = [f"{table.stem}.yaml" for table in tables if Path(f"{table.stem}.yaml").exists()]
    return ["--configfile", *overlays] if overlays else []


def _run_own(command: list[str]) -> None:
    """Make the table of the newest overlay and pages of examples; print what to do with them."""
    overlay, experiments = _newest()
    table = TABLES / f"{overlay.stem}.md"
    pages = [EXAMPLES / f"{name}.html" for name in experiments]
    targets = [*map(str, (table, *pages)), "--cores", "all", "--configfile", str(overlay)]
    print(f"{overlay}: makes {table}", flush=True)
    if code := subprocess.run([*command, *targets], check=False).returncode:
        sys.exit(code)
    print(table.read_text(encoding="utf-8"))
    print("\n  ".join(["good and bad searches, in a browser:", *map(str, pages)]))
    name, experiment = next(iter(experiments.items()))
    model, laid_over = f"models/{name}/seed0", f"--configfile {overlay}"
    item = shlex.quote(_test_item(experiment))  # of any features, also of arrays
    print(
        f"search:\n  crossmodal serve {model} {laid_over}\n"
        f"  crossmodal search {model} --item {item} {laid_over}"
    )


def _test_item(experiment: Experiment) -> str:
    """Return the first test item of an experiment's dataset."""
    splits = Prepared(PREPARED / experiment.dataset).splits
    return next(item for item, split in splits.items() if split == "test")


def _newest() -> tuple[Path, dict[str, Experiment]]:
    """Return the newest file here that has the table of its name, and its experiments."""
    own = params_file()
    paths = [path for path in Path().glob("*.yaml") if path != own]
    for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            project = params.read(own, path)
        except CrossmodalError:
            continue  # other programs have YAML files, too
        if table := project.tables.get(path.stem):
            return path, {name: project.experiments[name] for name in table.experiments}
    raise CrossmodalError(
        "no file of this folder has a table of your own: run `crossmodal init FOLDER` first, or "
        "name what to make, such as results/tables/all.md --cores 8"
    )
