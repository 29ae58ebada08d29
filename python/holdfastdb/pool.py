"""The class `Pool`: one file with several named objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, Unpack

from ._native import Pool as NativePool
from ._native import default_capacity
from .checked import flag, function_of, whole
from .errors import Error, InvalidType, ObjectClosed, ReadOnly
from .inspection import CheckReport, ObjectInfo, SnapshotReport, name_of, objects_from, path_text, report_from
from .opening import CreateOptions, OpenOptions, create_options, mode_of, open_options
from .table import Table


class Pool:
    """A pool file and its objects, from `Pool.create` or `Pool.open`.

    Each table has its own batches, domain and clean mark; its `path` is "POOL:NAME". One process at a time has a pool
    open for changes. The pool stays open until `close`, or until the last reference to the pool and its tables ends.
    Several threads may use one pool at once.
    """

    def __init__(self) -> None:
        raise InvalidType("Pool() makes no pool: use holdfastdb.Pool.create(path) or holdfastdb.Pool.open(path)")

    _native: NativePool
    _path: str
    _mode: str

    @classmethod
    def _wrap(cls, native: NativePool, path: str, mode: str) -> Pool:
        pool = object.__new__(cls)
        pool._native, pool._path, pool._mode = native, path, mode
        return pool

    @classmethod
    def create(cls, path: str | os.PathLike[str], overwrite: bool = False) -> Pool:
        """Creates an empty pool file and opens it. Only its owner can read the file.

        Parameters
        ----------
        overwrite
            Replace an existing pool that no process has open, or an empty file. Other files are not replaced.

        Raises
        ------
        PoolExists, PoolInUse, ObjectInUse, NoSpace, MediumError
        """
        text = path_text(path)
        return cls._wrap(NativePool.create(text, flag("overwrite", overwrite)), text, "r+")

    @classmethod
    def open(cls, path: str | os.PathLike[str], mode: str = "r+", salvage: bool = False) -> Pool:
        """Opens a pool file. Its tables are recovered when they are opened.

        Parameters
        ----------
        mode
            "r+" to change the pool (one process at a time), "r" to read it (together with other readers).
        salvage
            Open tables also after a power failure: items may be missing or damaged. With mode="r" private copies in
            memory are recovered, and the file is not written. It may have been cut short then: tables and stores open
            with what is left of them, other objects if they are whole; `objects` says what is lost (`damage`).

        Raises
        ------
        PoolNotFound, PoolInUse, ObjectInUse, PoolCorrupt, PoolVersion, MediumError
        """
        mode, text = mode_of(mode, "pool"), path_text(path)
        return cls._wrap(NativePool.open(text, mode == "r", flag("salvage", salvage)), text, mode)

    # Its objects.

    def create_table(
        self,
        name: str,
        key: int | type[bytes] = 8,
        value: int | type[bytes] = 8,
        capacity: int = default_capacity,
        device: str = "auto",
        overwrite: bool = False,
        **options: Unpack[CreateOptions],
    ) -> Table:
        """Creates an empty table, durably, and opens it.

        Parameters
        ----------
        name
            1 to 63 bytes of UTF-8, without "/", ":" and control characters.
        key, value, capacity, device, options
            As for `Table.create`.
        overwrite
            Take the place of a table of that name, in one commit: after a crash the one or the other is there.

        Raises
        ------
        PoolMismatch
            An object of another kind has the name.
        InvalidArgument, ObjectExists, ObjectInUse, ReadOnly, NoSpace, DeviceError, ObjectClosed
            Nothing has changed then.
        """
        name = name_of(name)
        native = self._native.create_table(name, create_options(key, value, capacity, device, overwrite, **options))
        return Table._wrap(native, self._path, f"{self._path}:{name}", "r+")

    def table(self, name: str, device: str = "auto", mode: str | None = None, **options: Unpack[OpenOptions]) -> Table:
        """Opens a table, and recovers it first if it was not closed. Each table is open once at a time.

        Parameters
        ----------
        mode
            "r+" or "r"; by default the pool's.
        device, options
            As for `Table.open`.

        Raises
        ------
        ObjectNotFound
            The message names the objects that there are.
        ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, DeviceError, ObjectClosed
        """
        name = name_of(name)
        mode = self._mode if mode is None else mode_of(mode, "table")
        if mode == "r+" and self._mode == "r":
            raise ReadOnly(f"{self._path} was opened for reading only: open the pool with mode='r+' to change {name}")
        native = self._native.table(name, open_options(device, mode, **options))
        return Table._wrap(native, self._path, f"{self._path}:{name}", mode)

    @property
    def objects(self) -> tuple[ObjectInfo, ...]:
        """Properties of each object, in the order of creation. Raises ObjectClosed."""
        return objects_from(self._native.objects())

    def rename(self, name: str, to: str, *, overwrite: bool = False) -> None:
        """Renames an object, durably; it may be open.

        Parameters
        ----------
        overwrite
            Replace an object of the same kind that has that name, in one commit: after a crash one of the two has the
            name.

        Raises
        ------
        ObjectNotFound, ObjectExists, ObjectInUse, PoolMismatch, InvalidArgument, ReadOnly, ObjectClosed
        """
        self._native.rename(name_of(name), name_of(to), flag("overwrite", overwrite))

    def drop(self, name: str) -> None:
        """Removes an object, durably, and frees its space in the file.

        Raises
        ------
        ObjectNotFound, ObjectInUse, ReadOnly, ObjectClosed
        """
        self._native.drop(name_of(name))

    # All of it.

    def snapshot(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        threads: int = 0,
        wait_for_sessions: bool = True,
        progress: Callable[[int, int], object] | None = None,
    ) -> SnapshotReport:
        """Copies all objects, as they are at one moment, into a new pool file, on any medium.

        Searches continue. Changes of tables, saves of checkpoints, and calls that open or close an object wait until
        the copy is complete. The file gets its name when it is complete and on its device. The copy of a table that is
        much larger than its items is as small as they are.

        Parameters
        ----------
        path, overwrite, threads
            As for `Table.snapshot`.
        wait_for_sessions
            Wait until sessions, in which kernels of C++ programs work on a table, have ended. False: InvalidArgument.
        progress
            As for `Table.snapshot`.

        Raises
        ------
        PoolExists, PoolInUse, ObjectInUse, NoSpace, MediumError, ObjectClosed
        """
        most = whole("threads", threads, 0, 1 << 16)
        taken = self._native.snapshot(
            path_text(path),
            flag("overwrite", overwrite),
            most,
            flag("wait_for_sessions", wait_for_sessions),
            function_of(progress),
        )
        return SnapshotReport(path=path_text(path), **taken)

    def check(self, name: str | None = None) -> CheckReport:
        """Verifies one object or all; those that are not open are opened for it.

        Of a table every slot and cell is verified, of a checkpoint the checksums of its states, of a log the tails of
        its places, of a region its header; `checked` in the report says so. Of several objects, the report has sums,
        and what was verified and what is wrong begin with the object's name.

        Raises
        ------
        ObjectNotFound, PoolCorrupt, PoolVersion, ObjectClosed
        """
        return report_from(self._native.check("" if name is None else name_of(name)))

    def close(self) -> None:
        """Closes the tables that are open, and then the pool. A second time does nothing."""
        self._native.close()

    @property
    def path(self) -> str:
        """The pool file, as it was named."""
        return self._path

    @property
    def mode(self) -> str:
        """ "r+" or "r"."""
        return self._mode

    @property
    def closed(self) -> bool:
        """Whether the pool was closed, or belongs to this process's parent."""
        return not self._native.is_open()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            names = ", ".join(found.name for found in self.objects)
        except ObjectClosed:
            return f"<holdfastdb.Pool {self._path}: closed>"
        except Error as error:  # its medium failed
            return f"<holdfastdb.Pool {self._path}: {type(error).__name__}>"
        return f"<holdfastdb.Pool {self._path}: {names or 'empty'}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            f"a pool cannot be pickled or copied: it is the open file {self._path}. Pass the path instead, and open it "
            "there with holdfastdb.Pool.open(path) after closing it here (several processes may read it, with "
            'mode="r")'
        )
