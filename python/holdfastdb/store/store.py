"""A durable key-value store, as a Python program uses it: expiry, conditions, counters, a memory limit and eviction."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from .._native import Blobs
from .._native import StoreIndex as NativeIndex
from .._native import StoreOptions as NativeOptions
from .._native import StoreScan as NativeScan
from ..checked import flag, function_of, number, one_of, whole
from ..errors import Error, InvalidArgument, InvalidType, ObjectClosed
from ..inspection import CheckReport, SnapshotReport, name_of, path_text, report_from
from ..libraries import NUMPY
from ..messages import shown
from ..opening import mode_of
from ..operands import ANY, TableShape
from ..pool import Pool
from ..strings import Strings, give, take
from .in_place import InPlace
from .items import StoreItem, StoreStats, StoreStatus, item_of
from .keys import SingleKeys
from .opening import device_numbers, limit_of, open_store
from .row_options import Flags, RowOptions, Seconds
from .times import LATEST

INDEXES = {"auto": NativeIndex.automatic, "cpu": NativeIndex.cpu, "gpu": NativeIndex.gpu}


class Store(SingleKeys, InPlace):
    """Items by their keys, durable in a pool: after a crash every acknowledged one is there, and every other is whole
    or absent. Keys are bytes, up to 65,535 of them.

    >>> import holdfastdb as hf
    >>> with hf.Store("cache.hold") as store:
    ...     store[b"user:17"] = b"Ada"
    ...     store.set(b"session", b"...", ttl=60)
    ...     store[b"user:17"]
    <StoreStatus.INSERTED: 0>
    b'Ada'

    Parameters
    ----------
    pool
        A path, or an open `Pool`.
    name
        Of the object in the pool. None: the only object of the pool, which must be a store; in a pool without objects,
        "store". Without a name, nothing is added to a pool that has objects.
    limit
        Bytes of memory for items, 4 MiB to 1 TiB; 0: what the medium has.
    evict
        Where memory is lacking, items that were not used lately are removed; otherwise NoSpace is raised. It needs a
        limit.
    expected_items
        The index has memory for so many at the beginning; it grows.
    max_value
        Bytes, at most 128 MiB; larger values are refused. It is not stored: give it at each opening.
    mode
        None, the default: the mode of an open `Pool`; of a path "r+", and the pool and the store are created if they do
        not exist. "r+" to change what exists, "r" to read it: then nothing is created.
    flush
        Flush and fence as domain "power" asks, on any medium.
    gpu
        GPUs copy values in place (`reserve`, `lease`): the memory of items is pinned.
    index
        "cpu", "gpu" or "auto": where the index is. "auto" is at present "cpu". On a GPU it is for pipelines and
        batches: a call with one key takes as long as a batch. If the GPU fails, an index on the CPU takes its place.
    devices
        With the index "gpu": numbers of the GPUs that share it, each with the keys of a share of the hashes. By default
        GPU 0 has all.

    Raises
    ------
    DeviceError
        No GPU can reach the medium, there is none for the index, or this Holdfast was built without CUDA.
    InvalidArgument
        An option cannot be; or no name is given and the pool has several objects, which the message names.
    PoolMismatch
        The object of that name is no store; or no name is given and the pool has other objects and no store.
    PoolNotFound, ObjectNotFound
        With a mode: the pool or the store does not exist.
    ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, NoSpace, MediumError
    """

    def __init__(
        self,
        pool: str | os.PathLike[str] | Pool,
        *,
        name: str | None = None,
        limit: int = 0,
        evict: bool = False,
        expected_items: int = 0,
        max_value: int = 1 << 20,
        mode: str | None = None,
        flush: bool = False,
        gpu: bool = False,
        index: str = "auto",
        devices: Sequence[int] = (),
    ) -> None:
        options = NativeOptions()
        options.limit_bytes = limit_of(limit)
        options.evict = flag("evict", evict)
        options.expected_items = whole("expected_items", expected_items, 0, (1 << 32) - 1)
        options.max_value_bytes = whole("max_value", max_value, 1, 128 << 20)
        options.flush = flag("flush", flush)
        options.gpu = flag("gpu", gpu)
        options.index = INDEXES[one_of("index", index, tuple(INDEXES))]
        options.devices = device_numbers(devices)
        name = None if name is None else name_of(name)
        mode = None if mode is None else mode_of(mode, "store")
        opened = open_store(pool, name, mode, options)
        self._native, self._evicts = opened.native, options.evict
        self._owned = None if opened.pool is pool else opened.pool
        self._pool_path, self._name = opened.pool.path, opened.name
        self._path = f"{self._pool_path}:{self._name}"
        self._shape = TableShape(self._path, ANY, ANY, "cpu")

    # Many keys.

    def get_many(self, keys: Any, *, out: Any = None, stream: Any = None) -> Any:
        """The values of many keys, several times as fast as one by one: an object array of bytes and None; of keys in
        an Arrow array, an Arrow array of large_binary; with `out`, a StoreFound.

        Parameters
        ----------
        keys
            A list or object array of bytes, an Arrow array of binary or large_binary, or a tuple of two arrays: all
            bytes as uint8, and (n + 1,) offsets.
        out
            A contiguous array of NumPy, CuPy or PyTorch, of any type, with a row for each key. It gets the bytes of
            the values, and zeros behind them; the row of a key that is absent, or whose value is longer than a row, is
            zero. An array on a GPU needs a store that was opened with `gpu`; the GPU reads the values in the pool,
            after what its current stream has, and before what that gets later.
        stream
            The CUDA stream for `out`; by default the current one.

        Raises
        ------
        NoSpace
            A million cells are leased (`lease`): values stay leased while a GPU reads them.
        DeviceError
        """
        strings = take("keys", keys, self._shape)
        if out is not None:
            return self._read_into(strings, out, stream)
        if stream is not None:
            raise InvalidArgument("stream is given without out: give an array, or leave it out")
        values = Blobs()
        self._native.get_many(strings.n, strings.pointer, strings.offsets_at, values)
        return give(values, type(keys).__module__.split(".")[0] == "pyarrow")

    def set_many(
        self, keys: Any, values: Any, *, ttl: Seconds = None, expires: Seconds = None, flags: Flags = 0
    ) -> np.ndarray:
        """Gives many keys items, in their order, each durable when it returns: (n,) uint8 of StoreStatus, INSERTED or
        UPDATED.

        Parameters
        ----------
        keys, values
            As `keys` of `get_many`.
        ttl, expires, flags
            As for `set`: one for all items, or a list or an array with one for each. In a list, None: the item never
            expires.

        Raises
        ------
        NoSpace
            There was no memory for some items. `statuses` of the error has NO_SPACE for them; all others are stored.
        """
        its_keys, its_values = take("keys", keys, self._shape), take("values", values, self._shape)
        if its_keys.n != its_values.n:
            raise InvalidArgument(f"values has {its_values.n} rows, and keys {its_keys.n}: give one for each key")
        options = RowOptions(self._native, its_keys.n, ttl, expires, flags)
        statuses = np.full(its_keys.n, StoreStatus.NO_SPACE, np.uint8)
        failed = self._native.set_many(
            its_keys.n,
            its_keys.pointer,
            its_keys.offsets_at,
            its_values.pointer,
            its_values.offsets_at,
            *options.given,
            NUMPY.pointer(statuses),
        )
        if failed:
            error = self._no_space(f"{failed:,} of {its_keys.n:,} items")
            error.statuses = statuses  # type: ignore[attr-defined]
            raise error
        return statuses

    def delete_many(self, keys: Any) -> np.ndarray:
        """Removes many keys: (n,) uint8 of StoreStatus, ERASED or NOT_FOUND."""
        strings: Strings = take("keys", keys, self._shape)
        statuses = np.full(strings.n, StoreStatus.NOT_FOUND, np.uint8)
        self._native.erase_many(strings.n, strings.pointer, strings.offsets_at, NUMPY.pointer(statuses))
        return statuses

    # All of it.

    def scan(self) -> Iterator[tuple[bytes, StoreItem]]:
        """All keys with their items. One that is there unchanged throughout comes exactly once; one that changes, at
        least once if its key is there throughout. The store may be used and changed meanwhile."""
        scan, more = NativeScan(), True
        while more:
            more, items = self._native.visit_some(scan)
            for key, native in items:
                yield key, item_of(native)

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self.scan())

    def flush_all(self, delay: float = 0) -> None:
        """Removes everything, durably; with `delay`, everything that is there so many seconds later. The last call
        counts."""
        seconds = number("delay", delay)
        if seconds == 0:
            self._native.flush_all()
            return
        now = self._native.now()
        if not (seconds > 0 and now + seconds * 1000 <= LATEST):
            raise InvalidArgument(f"delay is {shown(delay)}: give seconds from now, 0 or more, up to the year 10000")
        self._native.flush_all_at(now + math.ceil(seconds * 1000))

    def reclaim(self) -> int:
        """Gives back the memory of items that have expired or were flushed, in a sixteenth of the store, or in more
        until it finds one. Returns their number; 0: there are no more, and `len` is exact."""
        return self._native.reclaim()

    def drop_damaged(self) -> int:
        """Frees the memory of items that were damaged when the store was opened, and whose keys have not been set or
        deleted since. Returns how many items and pieces of 2 MiB these were; `check` finds no more of them. It is for
        items whose keys cannot be read, others are set or deleted: `holdfast recover --drop-damaged`."""
        return self._native.drop_damaged()

    def stats(self) -> StoreStats:
        return StoreStats(**self._native.stats())

    @property
    def limit(self) -> int:
        """Bytes of memory for items; 0: what the medium has. It may be changed; memory that is there stays."""
        return self.stats().limit_bytes

    @limit.setter
    def limit(self, bytes: int) -> None:
        self._native.set_limit(limit_of(bytes))

    @property
    def now(self) -> float:
        """The store's time, in seconds since 1970: never less than before, even if the machine's clock is set back."""
        return self._native.now() / 1000

    @property
    def domain(self) -> str:
        """What survives of what was acknowledged: "process" or "power"."""
        return self._native.domain()

    @property
    def path(self) -> str:
        """The pool file and the store's name: "POOL:NAME"."""
        return self._path

    def snapshot(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        threads: int = 0,
        progress: Callable[[int, int], object] | None = None,
    ) -> SnapshotReport:
        """Copies the store's pool, as it is at one moment, into a new pool file, on any medium. Changes of the store
        wait for that moment only.

        It also saves a store whose file was removed. Items that were damaged are copied as they are (`damaged`).

        Parameters
        ----------
        path, overwrite, threads, progress
            As for `Table.snapshot`.

        Raises
        ------
        PoolExists, PoolInUse, ObjectInUse, NoSpace, MediumError, ObjectClosed
        """
        taken = self._native.snapshot(
            path_text(path), flag("overwrite", overwrite), whole("threads", threads, 0, 1 << 16), function_of(progress)
        )
        return SnapshotReport(path=path_text(path), **taken)

    def check(self) -> CheckReport:
        """Verifies the checksum of every item; changes wait meanwhile."""
        return report_from(self._native.check())

    def sync(self) -> None:
        """Puts the store on its device and marks it clean."""
        self._native.sync()

    def close(self) -> None:
        """Closes the store, and the pool if it was given by its path. A second time does nothing."""
        try:
            self._native.close()
        finally:
            if self._owned is not None and self.closed:
                self._owned.close()

    @property
    def closed(self) -> bool:
        """Whether the store was closed, or belongs to this process's parent."""
        return not self._native.is_open()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except InvalidArgument as open_rows:  # reservations or leases, which an error may have left
            if error is None:
                raise
            error.add_note(str(open_rows))

    def __repr__(self) -> str:
        try:
            return f"<holdfastdb.Store {self._path}: {len(self):,} items>"
        except ObjectClosed:
            return f"<holdfastdb.Store {self._path}: closed>"
        except Error as error:  # its medium failed
            return f"<holdfastdb.Store {self._path}: {type(error).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            f"a store cannot be pickled or copied: it is an open object of {self._path}. Open it where it is used, "
            "after closing it here"
        )
