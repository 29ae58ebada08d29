"""The table in memory, as a Python program uses it: the operations of `Table`, and nothing durable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn, cast

import numpy as np

from ._native import MemoryOptions
from ._native import MemoryTable as NativeMemoryTable
from ._native import Table as NativeTable
from .checked import MOST, flag, whole
from .contents import exported, plain
from .errors import Error, InvalidArgument, InvalidType, ObjectExists
from .inspection import name_of, no_space, path_text
from .libraries import HOST
from .messages import shown
from .opening import CreateOptions, WorkOptions, create_options
from .operands import TableShape
from .pool import Pool
from .results import ExportResult, Items
from .sized import Sized
from .status import Status
from .table import Table, require_table

_WIDEST = 64
_PIECE = 1 << 16
"""Number of items that are copied between tables in one batch."""
_CREATE_OPTIONS = {"capacity", "device", "overwrite"} | CreateOptions.__optional_keys__


def _all_fit(statuses: Any, items: int, where: str) -> None:
    """Raises NoSpace if a row of a copy found no space."""
    refused = int(np.count_nonzero(statuses == Status.NO_SPACE))
    if refused:
        raise no_space(f"of {items:,} items {refused:,} or more", where)


class MemoryTable(Sized):
    """A volatile key-value table in memory (DRAMHiT). It needs no GPU and no file.

    Its contents end with the process. Operations, arguments, statuses and the order of rows are those of `Table`; there
    are no columns, scores, or keys and values of any length. Several threads may use one table at once.

    Parameters
    ----------
    key
        Bytes of a key: 8, or another multiple of 8 up to 64.
    value
        Bytes of a value: 0 (a set) to 64. Values of up to 8 bytes with keys of 8 bytes are the fastest.
    capacity
        Items to reserve space for, at a load of three quarters; the table grows beyond it while searches continue.
    threads
        Most threads of a batch, at most 1024; 0: all, at most 8.
    grows
        False: the table grows only by `reserve`, and a row without a slot reports NO_SPACE.
    huge_pages, interleave
        Request huge pages from the system, and interleave pages over all NUMA nodes.
    seed
        Seed of the hash; 0: random.
    partitions
        If not 0: the number of partitions, each changed only by its own thread (DRAMHiT-P). This suits few keys that
        are changed very often. For keys of 8 bytes with values of up to 8; the table does not grow, even if `grows`.

    Raises
    ------
    InvalidArgument, NoSpace, SystemError
    """

    def __init__(
        self,
        key: int = 8,
        value: int = 8,
        capacity: int = 1 << 20,
        *,
        threads: int = 0,
        grows: bool = True,
        huge_pages: bool = True,
        interleave: bool = True,
        seed: int = 0,
        partitions: int = 0,
    ) -> None:
        options = MemoryOptions()
        options.key_bytes = whole("key", key, 8, _WIDEST)
        options.value_bytes = whole("value", value, 0, _WIDEST)
        options.capacity = whole("capacity", capacity, 0, MOST)
        options.threads = whole("threads", threads, 0, 1 << 10)
        options.grows = flag("grows", grows)
        options.huge_pages = flag("huge_pages", huge_pages)
        options.interleave = flag("interleave", interleave)
        options.seed = whole("seed", seed, 0, MOST)
        options.partitions = whole("partitions", partitions, 0, 1 << 10)
        self._memory = NativeMemoryTable.create(options)
        self._native = cast(NativeTable, self._memory)  # runs batches as one
        self._shape = TableShape("the table in memory", key, value, HOST)

    # All of it.

    @property
    def capacity(self) -> int:
        """Number of slots. The table grows automatically before all are occupied."""
        return int(self._memory.slots())

    @property
    def load_factor(self) -> float:
        """Number of items divided by number of slots."""
        return len(self) / self.capacity

    @property
    def key_bytes(self) -> int:
        """Bytes of a key."""
        return self._shape.key_bytes

    @property
    def value_bytes(self) -> int:
        """Bytes of a value."""
        return self._shape.value_bytes

    def clear(self) -> None:
        """Removes every item. Needs memory for as many slots again, and raises NoSpace without it."""
        self._memory.clear()

    def reserve(self, items: int) -> None:
        """Grows the table so that it holds `items` items, at most 2^40, without another growth, even without `grows`.

        Moves the existing items; a signal (Ctrl-C) waits until this is done. Raises NoSpace, after which nothing has
        changed, and InvalidArgument for a partitioned table.
        """
        self._memory.reserve(whole("items", items, 0, 1 << 40))

    def stats(self) -> dict[str, Any]:
        """Returns figures: size, slots, bytes, growths, operations answered, and cache lines that they examined."""
        return dict(self._memory.stats())

    def export_batch(self, n: int = _PIECE, cursor: int = 0, *, values: bool = True, dtype: Any = None) -> ExportResult:
        """Copies up to `n` items.

        A key that is present from the first call to the last appears exactly once, even if the table changes.

        Parameters
        ----------
        cursor
            0 for the first call, then the result of the previous call.
        values
            False: omits the values.
        dtype
            Element type of the values, as for `find`.

        Returns
        -------
        keys
            Shape (m,) of uint64, m ≤ n; of keys wider than 8 bytes (m, key_bytes) of uint8.
        values
            m rows, or None.
        cursor
            Where to continue, or None at the end.
        """

        def export(at: int, keys: int, rows: int, _: int, most: int) -> tuple[int, int]:
            return self._memory.export_batch(at, keys, rows, most)

        return exported(export, self._shape, n, cursor, values, dtype, self.capacity)  # more would stay empty

    def batches(self, n: int = _PIECE, *, dtype: Any = None) -> Iterator[Items]:
        """Yields all items as arrays (keys, values) of up to `n` rows, with the guarantee and the element types of
        `export_batch`."""
        cursor: int | None = 0
        while cursor is not None:
            keys, values, cursor = self.export_batch(n, cursor, dtype=dtype)
            if len(keys):
                yield Items(keys, values)

    def items(self, *, dtype: Any = None, batch: int = 1 << 12) -> Iterator[tuple[Any, Any]]:
        """Yields each item as (key, value), in no order. Keys of 8 bytes are ints, wider ones bytes; values are bytes,
        or rows of `dtype`."""
        batch = whole("batch", batch, 1, 1 << 40)
        cursor: int | None = 0
        while cursor is not None:
            keys, rows, cursor = self.export_batch(batch, cursor, dtype=dtype)
            yield from zip(plain(keys), rows if dtype is not None else (row.tobytes() for row in rows), strict=True)

    def __iter__(self) -> Iterator[Any]:
        """Yields each key, in no order: an int, or bytes if keys are wider than 8 bytes."""
        for key, _ in self.items():
            yield key

    # Durable tables.

    def to_table(self, to: str | os.PathLike[str] | Pool, *, name: str | None = None, **options: Any) -> Table:
        """Creates a durable table with these items, and returns it open.

        The table gets its name when it has all items. After an error or an interrupt there is no new table, and with
        `overwrite` the previous one remains. A process that is killed during the call leaves a table in a `Pool` whose
        name begins with "to_table-"; drop it.

        Parameters
        ----------
        to
            The path of a new pool file, as for `Table.create`, or an open pool.
        name
            Name of the table in an open pool, as for `Pool.create_table`.
        options
            As for either, but for sizes, which are this table's; so is the capacity unless given.

        Raises
        ------
        InvalidArgument, PoolExists, PoolInUse, ObjectExists, ObjectInUse, NoSpace, MediumError, DeviceError
        """
        for size in ("key", "value"):
            if size in options:
                raise InvalidArgument(f"{size} is given: leave it out, the sizes are those of the items")
        for option in options.keys() - _CREATE_OPTIONS:
            raise InvalidType(f"to_table has no option {shown(option)}: give those of Table.create")
        if isinstance(to, Pool) != (name is not None):
            raise InvalidArgument("give a name with an open pool, and none with a path: Table.create names the table")
        options = {"key": self.key_bytes, "value": self.value_bytes, "capacity": max(1, len(self)), **options}
        if isinstance(to, Pool):
            return self._to_pool(to, str(name), options)
        path = path_text(to)
        created = create_options(**{"device": "auto", "overwrite": False, **options})
        native = NativeTable.create(path, created, lambda made: self._copy_to(Table._wrap(made, path, path, "r+")))
        return Table._wrap(native, path, path, "r+")

    def _to_pool(self, pool: Pool, name: str, options: dict[str, Any]) -> Table:
        """Creates a table with a temporary name, fills it, and renames it to `name`."""
        name, overwrite = name_of(name), flag("overwrite", options.pop("overwrite", False))
        if not overwrite and any(found.name == name for found in pool.objects):
            raise ObjectExists(f"{pool.path} has an object {shown(name)} already: name another, or pass overwrite=True")
        beside = f"to_table-{os.urandom(8).hex()}"
        try:
            with pool.create_table(beside, **options) as made:
                self._copy_to(made)
            pool.rename(beside, name, overwrite=overwrite)
        except BaseException:
            with suppress(Error):  # there is none, or the pool was closed
                pool.drop(beside)
            raise
        work = {option: value for option, value in options.items() if option in WorkOptions.__annotations__}
        return pool.table(name, options.get("device", "auto"), **work)

    def _copy_to(self, table: Table) -> None:
        """Copies all items into `table`. Closes the table if they do not fit."""
        try:
            cursor: int | None = 0
            while cursor is not None:
                keys, rows, cursor = self.export_batch(_PIECE, cursor)
                _all_fit(table.insert_or_assign(keys, rows), len(self), table.path)
        except BaseException:
            table.close()
            raise

    @classmethod
    def from_table(cls, table: Table, **options: Any) -> MemoryTable:
        """Creates a table in memory with the items of a durable table, without their scores.

        Parameters
        ----------
        options
            As for `MemoryTable`; key and value sizes are those of `table`, and so is the capacity unless given.

        Raises
        ------
        NoSpace
        """
        require_table(table, "from_table")
        if table.any_length:
            raise InvalidArgument(f"{table.path} has keys and values of any length: a table in memory has fixed ones")
        options = {"capacity": max(1, len(table)), **options}
        made = cls(table.key_bytes, table.value_bytes, **options)
        cursor: int | None = 0
        while cursor is not None:
            keys, rows, cursor = table.export_batch(_PIECE, cursor)
            _all_fit(made.insert_or_assign(keys, rows), len(table), "the table in memory")
        return made

    def __repr__(self) -> str:
        return f"<holdfastdb.MemoryTable: {len(self):,} items, load {self.load_factor:.2f}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            "a table in memory cannot be pickled or copied: pass its items, from export_batch or to_table"
        )
