"""Continues a dump after a kill: its file under a temporary name, and a resume file that says which file that is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import PoolCorrupt, PoolExists, PoolInUse
from ..table import Table
from .files import Seen, errors_of, id_of, look, sync_folder
from .resume_file import ResumeFile, boot_id, facts_of
from .store_rows import StoreRows

_ATTEMPTS = 100
PLACE = (1 << 48) - 1
"""The place in an export's cursor, from which another process continues in an unchanged pool."""


class DumpResume:
    """The resume file of a dump. A table's items are in the order of its slots, so an unchanged pool's dump continues.

    It says which file is the dump's, by its number on its device: a name may be that of another by now. Where a dump
    replaces a file, that one has the temporary name for a moment, when names have been exchanged.
    """

    def __init__(self, path: Path, table: Table | StoreRows, how: dict[str, Any]) -> None:
        self.path, self.partial = path, path.with_name(path.name + ".partial")
        self.resume_file = ResumeFile(path.with_name(self.partial.name + ".resume"))
        self.possible, state = False, {}
        if not isinstance(table, StoreRows):
            with suppress(PoolCorrupt):  # a file that was cut short: what is salvaged from it is dumped in one go
                pool, info = facts_of(table)
                self.possible = table.mode == "r" and info.clean
                state = {"pool_id": pool.pool_id, "object": info.number, "generation": info.generation}
        self._task = {**how, **state, "boot_id": boot_id()}
        self._found = self.resume_file.read() or {}

    def _goes_on(self) -> bool:
        """The resume file is of a dump of the same items in the same way."""
        return self.possible and all(self._found.get(name) == value for name, value in self._task.items())

    def _is(self, path: Path, noted: str) -> bool:
        """The name is that of the file which the resume file has noted so."""
        with suppress(FileNotFoundError):
            return bool(self._found.get(noted) == list(id_of(path.stat())))
        return False

    def place(self) -> dict[str, Any] | None:
        """Where to continue: cursor, bytes, rows; None: from the start. A complete file lacks only its name."""
        found = self._found
        if self._goes_on() and found["bytes"] and self._is(self.partial, "file"):
            return found if self.partial.stat().st_size >= found["bytes"] else None
        return None

    def ended(self) -> dict[str, Any] | None:
        """What a dump has done that was killed when its file had its own name already."""
        found = self._found
        if self._goes_on() and found.get("whole") and self._is(self.path, "file"):
            return found if self.path.stat().st_size == found["bytes"] else None
        return None

    def left_partial(self) -> bool:
        """A dump has left the file under the temporary name, unfinished or as a second name."""
        return self._is(self.partial, "file")

    def left_replaced(self) -> bool:
        """A dump has left the file there that it replaced."""
        return self._is(self.path, "file") and self._is(self.partial, "replaced")

    def begin(self, anew: bool, file: BinaryIO) -> None:
        """From now on the resume file says that the file under the temporary name is a dump's."""
        if anew:
            self._write(file, cursor=0, bytes=0, rows=0)

    def save(self, file: BinaryIO, cursor: int, rows: int) -> None:
        if self.possible:
            self._write(file, cursor=cursor, bytes=file.tell(), rows=rows)

    def whole(self, file: BinaryIO, rows: int, replaced: Seen | None) -> None:
        """It is on its device, and is about to get its name."""
        gone = list(replaced.id) if replaced is not None else None
        size = os.fstat(file.fileno()).st_size
        self._write(file, cursor=None, bytes=size, rows=rows, whole=True, replaced=gone)

    def _write(self, file: BinaryIO, **place: object) -> None:
        self.resume_file.write({**self._task, "file": list(id_of(os.fstat(file.fileno()))), **place})


def tidy(going_on: DumpResume) -> None:
    """Ends what a dump that was killed after it named its file has not."""
    with errors_of(going_on.partial, "cannot be removed"):
        if going_on.left_partial() or going_on.left_replaced():
            going_on.partial.unlink()
    sync_folder(going_on.path)
    going_on.resume_file.remove()


@contextmanager
def opened(going_on: DumpResume) -> Iterator[BinaryIO]:
    """The file under its temporary name, as private as the pool, and locked until the end. Other files are not touched:
    one that is not empty is a dump's only if a resume file says so."""
    file = _locked(going_on.partial, going_on.path, going_on)
    try:
        yield file
    finally:
        with suppress(OSError):  # the data is on its device, or another error is reported
            file.close()


def _locked(partial: Path, path: Path, going_on: DumpResume) -> BinaryIO:
    busy = PoolInUse(f"{path} is being written by another dump: wait for it, or name another file")
    for _ in range(_ATTEMPTS):
        look(partial, "a dump")
        with errors_of(path), ExitStack() as unless_locked:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            file = unless_locked.enter_context(os.fdopen(descriptor, "wb"))
            status = os.fstat(descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if id_of(partial.stat()) != id_of(status):
                    continue  # another dump has just ended
            except BlockingIOError:
                raise busy from None
            except FileNotFoundError:
                continue
            if going_on.left_replaced():  # it may have other names, so nothing is written into it
                partial.unlink()
                continue
            if status.st_size and not going_on.left_partial():
                raise PoolExists(
                    f"{partial} exists, and no resume file beside it says that a dump left it: remove it, or name "
                    "another file to dump to"
                )
            os.fchmod(descriptor, 0o600)
            unless_locked.pop_all()
            return file
    raise busy
