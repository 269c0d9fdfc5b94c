# Only one Snakemake at a time works in a folder. Snakemake's own locks outlive a killed process,
# this one does not: what a killed one left, its locks and unfinished files, is removed while
# holding it.
import fcntl

from crossmodal.io.files import remove_unfinished
from crossmodal.workflow.records import OUTPUTS


def take_the_folder():
    """Remove what a killed Snakemake left, unless another one is running."""
    Path(".snakemake").mkdir(exist_ok=True)
    running = open(".snakemake/running", "w")
    try:
        fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    for lock in Path(".snakemake/locks").glob("*.lock"):
        lock.unlink()
    for folder in OUTPUTS:
        remove_unfinished(Path(folder))
    return running  # kept open, and so locked, until this process ends


if workflow.is_main_process:
    RUNNING = take_the_folder()
