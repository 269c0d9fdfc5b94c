# Connects Snakemake and DVC: see crossmodal.workflow.records and crossmodal.workflow.sharing.
# Included last, when all rules are known.
import time

from crossmodal.workflow import records, sharing
from crossmodal.workflow.summary import summary
from crossmodal.io.files import write_text
from crossmodal.io.shaped_json import conflict
from snakemake.logging import logger

STARTED = time.monotonic()

if workflow.is_main_process:
    with reporting():
        records.take_over()
        outputs = [output for rule in workflow.rules for output in rule.output]  # not benchmarks
        unknown = records.doubt(lambda path: any(output.match(path) for output in outputs))
    if unknown:
        logger.warning(
            f"{', '.join(map(str, unknown[:3]))}{' ...' * (len(unknown) > 3)}, {len(unknown)} files: "
            f"{records.UNKNOWN}; what needs them makes them again"
        )
    if marks := conflict(sharing.LOCK):
        logger.warning(marks)
    before = sharing.IGNORE.read_text() if sharing.IGNORE.exists() else ""
    wanted = sharing.ignored(PARAMS, before)
    if wanted != before and Path(".dvc").is_dir():
        with reporting():
            write_text(sharing.IGNORE, wanted)
        if "DVC_STAGE" in os.environ:  # DVC has already read the old one
            raise WorkflowError(
                f"{sharing.IGNORE} was brought up to date with what the datasets' licences allow; "
                "run the same command again, and commit the file"
            )


onsuccess:
    records.carry()
    every, ran, asked = internals.jobs_with_output(workflow)
    targets = [path for job in asked for path in job.output or job.input]
    rules = [job.rule.name for job in ran]
    logger.info(summary(rules, len(every), time.monotonic() - STARTED, targets))


onerror:
    # where it is needed, since its import is slow
    from crossmodal.steps.tabulate_unfinished import tabulate_unfinished

    try:
        unfinished, failed = internals.due_jobs(workflow), internals.failed_jobs(workflow)
        for path in tabulate_unfinished(unfinished, failed):
            logger.warning(
                f"{path}: incomplete, since rows failed; they are tried again next time"
            )
    except (CrossmodalError, OSError) as error:  # a full disk, too
        logger.error(str(error))
    finally:
        records.carry()
