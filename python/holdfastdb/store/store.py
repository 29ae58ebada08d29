"""A durable key-value store, as a Python program uses it: expiry, conditions, counters, a memory limit and eviction."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from .._native import Blobs
from .._native import Store as NativeStore
from .._native import StoreIndex as NativeIndex
from .._native import StoreOptions as NativeOptions
from .._native import StoreScan as NativeScan
from ..checked import MOST, flag, number, one_of, whole
from ..errors import InvalidArgument, InvalidType, ObjectNotFound, PoolNotFound
from ..inspection import CheckReport, name_of, report_from
from ..libraries import NUMPY
from ..messages import shown
from ..opening import mode_of
from ..operands import ANY, TableShape
from ..pool import Pool
from ..strings import Strings, give, take
from .in_place import InPlace
from .items import StoreItem, StoreStats, StoreStatus, item_of
from .keys import LATEST, SingleKeys

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
        A path, of a pool that is made if there is none; or an open `Pool`, in which other objects may lie beside it.
    name
        Of the object in the pool. It is made if there is none.
    limit
        Bytes of memory for items, at least 4 MiB; 0: what the medium has.
    evict
        Where memory is lacking, items that were not read lately are removed; otherwise NoSpace is raised. It needs a
        limit.
    expected_items
        The index has memory for so many at the beginning; it grows.
    max_value
        Bytes, at most 128 MiB; larger values are refused.
    mode
        "r+" or "r"; by default that of the pool, or "r+".
    flush
        Flush and fence as domain "power" asks, on any medium.
    gpu
        GPUs copy values in place (`reserve`, `lease`): the memory of items is pinned.
    index
        "cpu", "gpu" or "auto": where the index is. "auto" is at present "cpu". On a GPU it is for pipelines and
        batches: a call with one key takes as long as a batch. If the GPU fails, an index on the CPU takes its place.

    Raises
    ------
    DeviceError
        No GPU can reach the medium, there is none for the index, or this Holdfast was built without CUDA.
    InvalidArgument, ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, NoSpace, MediumError
    """

    def __init__(
        self,
        pool: str | os.PathLike[str] | Pool,
        *,
        name: str = "store",
        limit: int = 0,
        evict: bool = False,
        expected_items: int = 0,
        max_value: int = 1 << 20,
        mode: str | None = None,
        flush: bool = False,
        gpu: bool = False,
        index: str = "auto",
    ) -> None:
        options = NativeOptions()
        options.limit_bytes = whole("limit", limit, 0, MOST)
        options.evict = flag("evict", evict)
        options.expected_items = whole("expected_items", expected_items, 0, (1 << 32) - 1)
        options.max_value_bytes = whole("max_value", max_value, 1, 128 << 20)
        options.flush = flag("flush", flush)
        options.gpu = flag("gpu", gpu)
        options.index = INDEXES[one_of("index", index, tuple(INDEXES))]
        name = name_of(name)
        mode = None if mode is None else mode_of(mode, "store")
        self._owned: Pool | None = None
        if not isinstance(pool, str | bytes | os.PathLike | Pool):
            raise InvalidType(
                f"pool is {shown(pool)}, of type {type(pool).__name__}: give a path, or a holdfastdb.Pool"
            )
        if not isinstance(pool, Pool):
            path, mode = pool, "r+" if mode is None else mode
            try:
                pool = self._owned = Pool.open(path, mode)
            except PoolNotFound:
                if mode == "r":
                    raise
                pool = self._owned = Pool.create(path)
        elif mode not in (None, pool.mode):
            raise InvalidArgument(f"mode is {shown(mode)}, and the pool's {shown(pool.mode)}: leave it out")
        self._path = f"{pool.path}:{name}"
        self._shape = TableShape(self._path, ANY, ANY, "cpu")
        try:
            self._native = NativeStore.open(pool._native, name, options)
        except ObjectNotFound:
            if pool.mode == "r":
                raise
            self._native = NativeStore.create(pool._native, name, options)

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
        self, keys: Any, values: Any, *, ttl: float | None = None, expires: float | None = None, flags: int = 0
    ) -> np.ndarray:
        """Gives many keys items, in their order, each durable when it returns: (n,) uint8 of StoreStatus, INSERTED or
        UPDATED.

        Parameters
        ----------
        keys, values
            As `keys` of `get_many`.
        ttl, expires, flags
            Of all items, as for `set`.

        Raises
        ------
        NoSpace
            Some were not stored; `statuses` of the error says which, and all others stand.
        """
        its_keys, its_values = take("keys", keys, self._shape), take("values", values, self._shape)
        if its_keys.n != its_values.n:
            raise InvalidArgument(f"values has {its_values.n} rows, and keys {its_keys.n}: give one for each key")
        statuses = np.full(its_keys.n, StoreStatus.NO_SPACE, np.uint8)
        failed = self._native.set_many(
            its_keys.n,
            its_keys.pointer,
            its_keys.offsets_at,
            its_values.pointer,
            its_values.offsets_at,
            whole("flags", flags, 0, (1 << 32) - 1),
            self._expiry(ttl, expires),
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
        """Gives back the memory of items that have expired or were flushed, in a part of the store; sixteen calls visit
        all of it. Then `len` is exact. Returns their number."""
        return self._native.reclaim()

    def stats(self) -> StoreStats:
        return StoreStats(**self._native.stats())

    @property
    def limit(self) -> int:
        """Bytes of memory for items; 0: what the medium has. It may be changed; memory that is there stays."""
        return self.stats().limit_bytes

    @limit.setter
    def limit(self, bytes: int) -> None:
        self._native.set_limit(whole("limit", bytes, 0, MOST))

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

    def check(self) -> CheckReport:
        """Verifies the checksum of every item; changes wait meanwhile."""
        return report_from(self._native.check())

    def sync(self) -> None:
        """Puts the store on its device and marks it clean."""
        self._native.sync()

    def close(self) -> None:
        """Closes the store, and the pool if it was given by its path. A second time does nothing."""
        self._native.close()
        if self._owned is not None:
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
        if self.closed:
            return f"<holdfastdb.Store {self._path}: closed>"
        return f"<holdfastdb.Store {self._path}: {len(self):,} items>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            f"a store cannot be pickled or copied: it is an open object of {self._path}. Open it where it is used, "
            "after closing it here"
        )
