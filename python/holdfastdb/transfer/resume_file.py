"""How far a transfer has come, in a small file, so that it can continue after a kill.

A resume file speaks of one table, by its pool's id and its number there, and of one file. Its first line says what it
is, the second is JSON. It is replaced in one step after each acknowledged batch, so it is never ahead of the pool; what
it does not know of is done once more.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument
from ..inspection import ObjectInfo, PoolInfo, inspect
from ..table import Table
from .files import Seen, errors_of, give_name, id_of, look, sync_folder

_HEAD = "holdfast resume file, version 2\n"
_DRAFTS = 1000


def boot_id() -> str:
    """Of the machine's present run."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def facts_of(table: Table) -> tuple[PoolInfo, ObjectInfo]:
    """What the file says of a table's pool, and of the table."""
    pool = inspect(table._pool_path)
    return pool, next(found for found in pool.objects if found.number == table._number)


class ResumeFile:
    """The file at `path`, or nothing yet. It replaces nothing but resume files, and removes what it has looked at.

    Raises
    ------
    InvalidArgument, MediumError, PoolExists
        There is something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = look(path, "a resume file")
        if self._seen is not None and not self._begins_right():
            raise InvalidArgument(f"{path} is no resume file of this version: remove it, or name another")

    def _begins_right(self) -> bool:
        with errors_of(self.path, "cannot be read"), self.path.open("rb") as file:
            return file.read(len(_HEAD)) == _HEAD.encode()

    def exists(self) -> bool:
        return self._seen is not None

    def read(self) -> dict[str, Any] | None:
        """What was written last, or None. Raises InvalidArgument for a damaged one."""
        if self._seen is None:
            return None
        try:
            with errors_of(self.path, "cannot be read"):
                text = self.path.read_text(encoding="utf-8")
            content: dict[str, Any] = json.loads(text.removeprefix(_HEAD))
            if not isinstance(content, dict):
                raise ValueError
            return content
        except ValueError:
            raise InvalidArgument(f"{self.path} is a damaged resume file: remove it, and begin at the start") from None

    def write(self, content: dict[str, Any], *, lasting: bool = False) -> None:
        """Replaces it in one step; `lasting`: puts it on its device too, with its name."""
        with errors_of(self.path):
            descriptor, draft = self._draft()
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(_HEAD)
                    json.dump(content, file)
                    file.flush()
                    if lasting:
                        os.fsync(file.fileno())
                    written = Seen(os.dup(file.fileno()))
                give_name(draft, self.path, self._seen)
                self._seen = written
                if lasting:
                    sync_folder(self.path)
            finally:
                draft.unlink(missing_ok=True)

    def _draft(self) -> tuple[int, Path]:
        """A new file beside it, locked while it is written: one that a killed process left is not locked."""
        for number in range(_DRAFTS):
            draft = self.path.with_name(f"{self.path.name}.{os.getpid()}-{number}")
            with suppress(FileExistsError):
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                if _lock_named(descriptor, draft):
                    return descriptor, draft
                os.close(descriptor)
        raise FileExistsError(errno.EEXIST, f"all names for a draft are taken, {draft} the last")

    def _remove_drafts(self) -> None:
        """Those that killed processes left, which are not locked. A file that is no draft of a resume file stays."""
        for draft in self.path.parent.iterdir():
            process, dash, number = draft.name.removeprefix(f"{self.path.name}.").partition("-")
            if dash and process.isdecimal() and number.isdecimal() and draft.name.startswith(self.path.name):
                with suppress(OSError):
                    _remove_draft(draft)

    def remove(self) -> None:
        """Unless it is another file by now. Drafts that killed processes left go first: once it has gone, no later
        transfer would look for them."""
        with suppress(OSError):  # a folder that cannot be read keeps its drafts
            self._remove_drafts()
        with suppress(FileNotFoundError), errors_of(self.path, "cannot be removed"):
            if self._seen is not None and self._seen.id == id_of(self.path.stat()):
                Path(os.path.realpath(self.path)).unlink()
        self._seen = None


def _lock_named(descriptor: int, path: Path) -> bool:
    """Locks a file; false if another process has, or if the name now belongs to another file, or to none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return id_of(path.lstat()) == id_of(os.fstat(descriptor))
    except (BlockingIOError, FileNotFoundError):
        return False


def _remove_draft(draft: Path) -> None:
    descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not _lock_named(descriptor, draft):
            return
        begins = file.read(len(_HEAD))  # less, where it was killed early
        if _HEAD.encode().startswith(begins):
            draft.unlink()
