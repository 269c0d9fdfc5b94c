# Only one Snakemake at a time makes files in a folder. Snakemake's own locks outlive a killed process,
# this one does not: what a killed one left, its locks and unfinished files, is removed while
# holding it.
import atexit
from contextlib import ExitStack

from crossmodal.io.files import remove_unfinished, write_text
from crossmodal.io.locks import lock
from crossmodal.workflow.linked_folders import refuse_links
from crossmodal.workflow.records import OUTPUTS


def take_the_folder():
    """Keep others out until this process ends.

    Raises:
        BlockingIOError: If another Snakemake makes files in it.
    """
    RUNNING.enter_context(lock(Path(".snakemake/running"), waiting=None))


def clear_the_folder():
    """Remove what a killed Snakemake left, unless another one is running."""
    Path(".snakemake").mkdir(exist_ok=True)
    try:
        take_the_folder()
    except BlockingIOError:
        return
    if Path(".snakemake/running.owner").exists():
        logger.warning(
            "this file system has no locks; see `A file system without locks` in docs/workflow.md"
        )
    for left in Path(".snakemake/locks").glob("*.lock"):
        left.unlink()
    for folder in OUTPUTS:
        remove_unfinished(Path(folder))
    room = Path(".snakemake/room")  # for Snakemake's own locks: on a full disk they are a traceback
    write_text(room, "0" * 200_000)
    room.unlink()
    if ALONE:  # `onstart` takes it again, but not of a dry run or a report, which keep nobody out
        RUNNING.close()


if workflow.is_main_process:
    RUNNING = ExitStack()  # until this process ends
    atexit.register(RUNNING.close)
    with reporting():
        refuse_links(for_dvc="DVC_STAGE" in os.environ)
        clear_the_folder()
    if internals.stages_files(workflow) and "CROSSMODAL_CHECKPOINTS" not in os.environ:
        logger.warning(
            "jobs get their files from a storage: one that is killed begins anew; to let it resume, "
            "name a folder that all machines see by `checkpoints` in params.yaml"
        )
