# Only one Snakemake at a time works in a folder. Snakemake's own locks outlive a process that was
# killed; this one does not: whoever gets it knows that the other locks are nobody's.
import fcntl


def clear_dead_locks():
    """Remove locks that a killed Snakemake left; a living one keeps them, and us out."""
    Path(".snakemake").mkdir(exist_ok=True)
    running = open(".snakemake/running", "w")
    try:
        fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    for lock in Path(".snakemake/locks").glob("*.lock"):
        lock.unlink()
    return running  # kept open, and so locked, until this process ends


if workflow.is_main_process:
    RUNNING = clear_dead_locks()
