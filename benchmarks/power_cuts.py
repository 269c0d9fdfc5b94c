"""Power cuts in single jobs: a disk that holds no more than was synced."""

import filecmp
import json
import os
import random
import shutil
import signal
import stat
import time
from pathlib import Path

from benchmarks.faults_in_jobs import STEPS, Jobbed, contents, difference, finish, start

DAMAGE = ("none", "empty", "cut", "zeros")  # of content that was not synced


class Disk:
    """Contents of files and names in folders that were synced, by inode.

    POSIX promises no more after a power cut: a name without its file's content, a file without its
    name, and the names of some folders alone may be left.

    Args:
        folder: What is there when it is made counts as synced.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal = folder, folder.with_name("journal")
        shutil.rmtree(self.journal, ignore_errors=True)
        self.journal.mkdir()
        # open, so that no other file gets their inodes
        self.open = [os.open(path, os.O_RDONLY) for path in (folder, *folder.rglob("*"))]
        for handle in self.open:
            self._keep(handle)

    def watch(self) -> None:
        """Note in this process what each sync keeps."""
        sync = os.fsync

        def watched(handle: int) -> None:
            sync(handle)
            self._keep(os.dup(handle))

        os.fsync = watched

    def _keep(self, handle: int) -> None:
        status = os.fstat(handle)
        new, kept = (self.journal / f"{status.st_ino}{end}" for end in (".new", ""))
        if stat.S_ISDIR(status.st_mode):
            new.write_text(json.dumps(_names(handle)))
        else:
            shutil.copyfile(f"/proc/self/fd/{handle}", new)
            os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
        new.replace(kept)  # a sync that a kill ends keeps nothing

    def cut_power(self) -> None:
        """Make the folder one that a power cut may leave."""
        present = {p.stat().st_ino: p for p in (self.folder, *self.folder.rglob("*"))}
        left = self.folder.with_name("left")
        self._restore_folder(self.folder.stat().st_ino, left, present)
        shutil.rmtree(self.folder)
        left.rename(self.folder)
        for handle in self.open:
            os.close(handle)

    def _restore_folder(self, inode: int, place: Path, present: dict[int, Path]) -> None:
        place.mkdir()
        kept, now = self.journal / str(inode), present.get(inode)
        names = [json.loads(kept.read_text())] if kept.exists() else [{}]
        names += [_names(now)] if now else []
        for name, (child, is_folder) in random.choice(names).items():
            restore = self._restore_folder if is_folder else self._restore_file
            restore(child, place / name, present)

    def _restore_file(self, inode: int, place: Path, present: dict[int, Path]) -> None:
        kept, now = self.journal / str(inode), present.get(inode)
        if kept.exists() and (not now or filecmp.cmp(kept, now, shallow=False)):
            shutil.copy2(kept, place)
        elif not now:
            place.touch()
        else:
            shutil.copy2(random.choice([kept, now]) if kept.exists() else now, place)
            _damage(place)


def _names(folder: int | Path) -> dict[str, tuple[int, bool]]:
    """Inode of each name in a folder, and whether it is a folder."""
    status = {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir(folder)}
    return {name: (found.st_ino, stat.S_ISDIR(found.st_mode)) for name, found in status.items()}


def _damage(path: Path) -> None:
    """Do to a file what a power cut may do to content that was not synced; its time stays."""
    status, kind = path.stat(), random.choice(DAMAGE)
    if kind != "none":
        os.truncate(path, random.randrange(status.st_size + 1) if kind == "cut" else 0)
    if kind == "zeros":
        os.truncate(path, status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def cut_power(jobs: Jobbed, step: str) -> str:
    """A simulated power cut at a random moment, which leaves no more than was synced."""
    name = jobs.draw(step)
    disk = Disk(jobs.folder)
    pid = start(jobs.folder, jobs.commands[name], disk.watch)
    time.sleep(random.uniform(0, 1.5 * jobs.seconds[name]))
    os.kill(pid, signal.SIGKILL)
    ended = finish(pid) == 0
    disk.cut_power()
    # what a finished job has made is there without another run
    lost = difference(jobs.expected, contents(jobs.folder)) if ended else ""
    return f"{name} has lost {lost}" if lost else jobs.differs(name)


# name -> function, step, how often
FAULTS = {f"power_cut_{step}": (cut_power, step, 20) for step in STEPS}
