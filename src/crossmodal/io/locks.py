"""Locks that end with their process, whatever ends it."""

import errno
import fcntl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from filelock import SoftFileLock, Timeout

# Lustre mounted without `flock`, NFS without a lock daemon, some file systems of FUSE
MISSING = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


def take(stream: IO[str], wait: bool) -> bool:
    """Lock an open file until it is closed; return false where the file system has no locks.

    Raises:
        BlockingIOError: If another process holds the lock, unless this one waits for it.
    """
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in MISSING:
            raise
        return False
    return True


@contextmanager
def lock(path: Path, waiting: str | None) -> Iterator[None]:
    """Hold the lock of a file; where the file system has none, a file beside it names the owner.

    Args:
        path: The file, which is made.
        waiting: What to say before waiting for another process; None does not wait.

    Raises:
        BlockingIOError: If another process holds the lock, and this one does not wait for it.
    """
    with path.open("w") as stream:
        if _after(waiting, lambda wait: take(stream, wait)):
            yield
            return
    owner = path.with_name(f"{path.name}.owner")
    remedy = f" ({owner} names it; if it ran on another machine and has ended, delete that file)"
    named = SoftFileLock(owner)
    _after(waiting and waiting + remedy, lambda wait: _take_name(named, wait))
    try:
        yield
    finally:
        named.release()


def _after(waiting: str | None, attempt: Callable[[bool], bool]) -> bool:
    """Attempt without waiting, then with a message, unless there is none, and waiting."""
    try:
        return attempt(False)
    except BlockingIOError:
        if waiting is None:
            raise
    print(waiting, file=sys.stderr)
    return attempt(True)


def _take_name(named: SoftFileLock, wait: bool) -> bool:
    """Lock by a file with host and process; one of an ended process of this host is replaced."""
    try:
        named.acquire(timeout=-1 if wait else 1)  # the first attempt may only remove the old file
    except Timeout as error:
        raise BlockingIOError(errno.EAGAIN, "held by another process", named.lock_file) from error
    return True
