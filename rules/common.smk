# Checks params.yaml; JOBS and REQUESTS answer what the rules ask of it.
import atexit
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from crossmodal.config import params, plugins
from crossmodal.config.table import QRELS
from crossmodal.config.overlays import naming, overlaid, read_files
from crossmodal.config.workflow_files import PACKAGE, folder, params_file, seen
from crossmodal.data.prepared import FILES
from crossmodal.errors import CrossmodalError, explained
from crossmodal.repeatability import use_portable_instructions
from crossmodal.workflow import code_memory
from crossmodal.workflow.code_hash import MEMORY, code
from crossmodal.workflow.drawings import Drawings
from crossmodal.workflow import snakemake_internals as internals
from crossmodal.workflow.experiments import refuse_missing_data
from crossmodal.workflow.jobs import Jobs
from crossmodal.workflow.requests import Requests
from crossmodal.workflow.targets import refuse_unknown

if SOURCE.is_dir():
    # bash strict mode is Snakemake's own prefix, which this one replaces
    shell.prefix(f"set -euo pipefail; export PYTHONPATH={quote(seen(SOURCE))}; ")


@contextmanager
def reporting():
    """Report a full disk in one line; Snakemake would add its place in the rules."""
    try:
        yield
    except CrossmodalError as error:
        raise WorkflowError(str(error))
    except OSError as error:
        # not by the logger, whose file is on that disk too
        print(f"error: {explained(error) or error}", file=sys.stderr)
        sys.exit(1)


# params.yaml, and what `--configfile` lays over it; as a module, what the other workflow hands over
ALONE = not internals.is_module(workflow)
CONFIGS = [params_file(), *(internals.overlays(workflow) if ALONE else ())]
with reporting():
    internals.refuse_other_backends(workflow)
    with naming(CONFIGS):
        # Snakemake, which has read them too, drops what it does not understand
        content = read_files(CONFIGS)
        PARAMS = params.parse(config if ALONE else overlaid(content, config), params.CHECKED)
    if ALONE:
        internals.spare_pandas()
        refuse_unknown(sys.argv[1:], PARAMS)  # Snakemake's own list of targets comes later
for reason in dict.fromkeys(PARAMS.broken.values()):
    logger.warning(f"not usable: {reason}")

if PARAMS.mirror:
    os.environ.setdefault("CROSSMODAL_MIRROR", PARAMS.mirror)

if PARAMS.checkpoints:
    os.environ.setdefault("CROSSMODAL_CHECKPOINTS", PARAMS.checkpoints)

if PARAMS.portable:
    use_portable_instructions()

MEMORY.opened(code_memory.FILE)
atexit.register(MEMORY.keep)  # once, since jobs ask for the code of theirs one by one
JOBS, REQUESTS = Jobs(PARAMS), Requests(PARAMS)
DRAWINGS = Drawings(JOBS)
with reporting():
    refuse_missing_data(PARAMS, JOBS.datasets(), JOBS.views())
NONE = "(?!)"  # matches nothing
LIGHT = {"mem_mb": 2000, "runtime": 60, "gpu": 0}  # what a job without training asks for


wildcard_constraints:
    dataset="|".join(PARAMS.datasets),
    source="|".join(plugins.names("datasets")),
    feature="|".join(PARAMS.features),
    experiment="|".join(PARAMS.experiments),
    table="|".join(PARAMS.tables),
    drawing=DRAWINGS.pattern(),
    part=r"\d+",
    parts=r"\d+",
    seed=r"\d+",
    qrels=QRELS.pattern,


def folder_of(files, above=1):
    """The folder of some inputs of a rule, wherever an executor has staged it."""

    def folder(wildcards, input):
        staged = input.get(files)
        return str(Path(staged[0]).parents[above - 1]) if staged else "."

    return folder


def figure(path):
    """A figure of the report, by its kind."""
    labels = {"figure": "{drawing}"}
    caption = "report/figure.rst"
    return report(
        path, caption=caption, category="Figures", subcategory=DRAWINGS.kind, labels=labels
    )


def table(path, kind):
    """A table of the report."""
    labels = {"table": "{table}", "as": kind}
    return report(path, caption="report/table.rst", category="Tables", labels=labels)
