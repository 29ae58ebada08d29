"""What a transfer writes beside pools: what it may replace, how it gets its name, and errors that say which file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import _native
from ..errors import Error, InvalidArgument, MediumError, NoSpace, PoolExists, SystemError


class Seen:
    """A file that was looked at, whatever it is called. As long as this lives, no other gets its number."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        status = os.fstat(descriptor)
        self.mode = status.st_mode
        self.id = id_of(status)

    def __del__(self) -> None:
        os.close(self._descriptor)


_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}


@contextmanager
def errors_of(path: Path, doing: str = "cannot be written") -> Iterator[None]:
    """Errors of the system become ours, and say which file they are about."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise NoSpace(f"{path} {doing}: {why}; free space there, or name a file on a larger medium") from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise MediumError(f"{path} {doing}: its folder does not exist; make the folder first") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR):
            raise MediumError(f"{path} {doing}: {why}; name a file where you may write") from error
        raise SystemError(f"{path} {doing}: {why}") from error


def id_of(status: os.stat_result) -> tuple[int, int]:
    """Its device, and its number there."""
    return status.st_dev, status.st_ino


def look(path: Path, what: str) -> Seen | None:
    """The regular file at `path`, links followed, or None. Raises MediumError for what is no such file, PoolExists for
    a pool: `what` replaces neither."""
    with errors_of(path, "cannot be looked at"):
        try:
            seen = Seen(os.open(path, os.O_PATH | os.O_CLOEXEC))
        except FileNotFoundError:
            return None
    if not stat.S_ISREG(seen.mode):
        kind = _KINDS.get(stat.S_IFMT(seen.mode), "a device")
        raise MediumError(f"{path} is {kind}, not a file: name a file for {what}")
    if _native.is_pool(os.fspath(path)):
        raise PoolExists(f"{path} is a pool, and {what} replaces none: name another file")
    return seen


def give_name(temporary: Path, path: Path, replaced: Seen | None) -> None:
    """Renames a file, in place of `replaced` or of nothing; whatever else is there by now stays. Raises PoolExists."""
    with errors_of(path, "cannot be given its name"):
        _native.give_name(os.fspath(temporary), os.path.realpath(path), replaced.id if replaced else None)
        temporary.unlink(missing_ok=True)  # what was replaced


def sync_folder(path: Path) -> None:
    """Puts the name that `give_name` gave on its device, where the folder may be opened: behind a link, another one."""
    with suppress(OSError):
        folder = os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def replaceable(path: Path, what: str, overwrite: bool) -> Seen | None:
    """What a file written at `path` would replace; `what` is the writer's name of it. Raises before anything is written
    what `written_whole` would raise of the name alone."""
    if not path.parent.is_dir():
        raise InvalidArgument(f"{path.parent} is no folder: make it, or name another")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise MediumError(f"{path.parent} cannot be written: name a file where you may write")
    replaced = look(path, what)
    if not overwrite and (replaced is not None or path.is_symlink()):
        raise PoolExists(f"{path} exists already: name another file, or overwrite it")
    return replaced


@contextmanager
def written_whole(path: Path, what: str, replaced: Seen | None) -> Iterator[Path]:
    """Yields a temporary name beside `path`, for a file that the caller writes and puts on its device. The file gets
    its own name at the end, in place of `replaced`, or goes again."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    if os.path.lexists(partial):
        raise PoolExists(f"{partial} exists, and is not of this {what}: remove it, or name another file")
    try:
        with errors_of(path):
            yield partial
        give_name(partial, path, replaced)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path)
