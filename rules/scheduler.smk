from snakemake.exceptions import LockException

from crossmodal.workflow import records, sharing
from crossmodal.io.files import unlink_shared


onstart:
    try:
        take_the_folder()
    except BlockingIOError:
        if internals.locks_the_folder(workflow):
            raise LockException
    internals.lift_default_rate(workflow)
    if internals.uploads_files(workflow) and not PARAMS.private_storage:
        outputs = (path for job in internals.due_jobs(workflow) for path in job.output)
        with reporting():
            sharing.refuse_upload(PARAMS, map(records.original, map(Path, outputs)))
    # Snakemake writes benchmarks in place, and DVC may have linked them into its cache
    for job in internals.due_jobs(workflow):
        if job.benchmark:
            unlink_shared(Path(job.benchmark))
