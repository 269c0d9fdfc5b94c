"""Parts of Snakemake that its documentation does not promise, all in one place.

`pyproject.toml` bounds its version; a test fails where one of these names is gone.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from crossmodal.errors import CrossmodalError


def overlays(workflow: Any) -> list[Path]:
    """Return the files of `--configfile`, relative to the working folder."""
    return [Path(os.path.relpath(path)) for path in workflow.overwrite_configfiles]


def is_module(workflow: Any) -> bool:
    """Return whether another workflow includes this one by `module`."""
    return not workflow.modifier.is_main_snakefile()


def refuse_other_backends(workflow: Any) -> None:
    """Check that Snakemake keeps its records as files, which DVC can carry.

    Raises:
        CrossmodalError: If it keeps them in a database.
    """
    backend = workflow.workflow_settings.persistence_backend
    if backend.name != "FILE":
        raise CrossmodalError(
            f"--persistence-backend {backend.name.lower()}: DVC can only share records that are "
            "files; leave the option out"
        )


def stages_files(workflow: Any) -> bool:
    """Return whether jobs get their inputs from a storage, and not from a folder that all share."""
    return workflow.storage_settings.default_storage_provider is not None


def uploads_files(workflow: Any) -> bool:
    """Return whether outputs go to a storage that is no folder of the user's."""
    return workflow.storage_settings.default_storage_provider not in (None, "fs")


def locks_the_folder(workflow: Any) -> bool:
    """Return whether `--nolock` was left out."""
    return workflow.execution_settings.lock


def lift_default_rate(workflow: Any) -> None:
    """Remove Snakemake's default limit of jobs per second; one that was asked for stays.

    The limit, 100 jobs a second, wakes the scheduler once more per second for each job that has
    ended (snakemake/snakemake#3744): with hundreds of jobs it takes a fifth of a processor.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def spare_pandas() -> None:
    """Let Snakemake compare parameters without pandas, whose import takes a seventh of its start.

    No parameter of this workflow is of pandas.
    """
    from snakemake.persistence import PersistenceBase

    PersistenceBase._serialize_param_pandas = PersistenceBase._serialize_param_builtin


def due_jobs(workflow: Any) -> list[Any]:
    """Return the jobs that are still to run."""
    return [*workflow.dag.needrun_jobs()]


def failed_jobs(workflow: Any) -> Collection[Any]:
    """Return the jobs that failed."""
    return workflow.scheduler.failed


def jobs_with_output(workflow: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return all jobs that write files, those of them that ran, and all that were asked for."""
    dag = workflow.dag
    every, ran = (
        [job for job in jobs if job.rule.output] for jobs in (dag.jobs, dag.finished_jobs)
    )
    return every, ran, [*dag.targetjobs]


def record_format() -> int:
    """Return the version of the format of Snakemake's records."""
    from snakemake.persistence import RECORD_FORMAT_VERSION

    return RECORD_FORMAT_VERSION
