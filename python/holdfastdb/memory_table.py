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
"""Items that are carried from table to table at a time."""
_CREATE_OPTIONS = {"capacity", "device", "overwrite"} | CreateOptions.__optional_keys__


def _all_fit(statuses: Any, items: int, where: str) -> None:
    """Raises NoSpace where a row of a copy found none."""
    refused = int(np.count_nonzero(statuses == Status.NO_SPACE))
    if refused:
        raise no_space(f"of {items:,} items {refused:,} or more", where)


class MemoryTable(Sized):
    """A key-value table in memory, at the speed of DRAM (DRAMHiT). It needs no GPU and no file.

    It ends with the process. The operations, their arguments, statuses and the order of rows are those of `Table`, but
    for columns, scores, and keys and values of any length. Several threads may use one table at once.

    Parameters
    ----------
    key
        Bytes of a key: 8, or another multiple of 8 up to 64.
    value
        Bytes of a value: 0 (a set) to 64. Up to 8, with keys of 8, are the fastest.
    capacity
        Items to make space for, at three quarters full; the table grows past it automatically, while searches continue.
    threads
        That a batch may use, 1024 at most; 0: all, 8 at most.
    grows
        False: it grows only by `reserve`, and what finds no space is NO_SPACE.
    huge_pages, interleave
        Ask the system for huge pages, and for pages of all NUMA nodes, one after another.
    seed
        Of the hash; 0: random.
    partitions
        Not 0: DRAMHiT-P. Changes go to as many threads of the table's own, which suits few keys that are changed very
        often. For keys of 8 bytes with values of up to 8; the table does not grow, whatever `grows` says.

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
        """Slots. The table grows before they are all taken, and by itself."""
        return int(self._memory.slots())

    @property
    def load_factor(self) -> float:
        """Items divided by slots."""
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
        """Removes every item. Raises NoSpace: it needs memory for as many slots again."""
        self._memory.clear()

    def reserve(self, items: int) -> None:
        """Grows so that `items` items, at most 2^40, fit without another growth, also if `grows` is False.

        It moves the items that there are, which takes as long as a growth by itself does, however many are to come; a
        signal (Ctrl-C) waits until it is done. Raises NoSpace, and then nothing has changed; InvalidArgument in a
        partitioned table.
        """
        self._memory.reserve(whole("items", items, 0, 1 << 40))

    def stats(self) -> dict[str, Any]:
        """Figures: size, slots, bytes, growths; operations answered, and cache lines looked at for them."""
        return dict(self._memory.stats())

    def export_batch(self, n: int = _PIECE, cursor: int = 0, *, values: bool = True, dtype: Any = None) -> ExportResult:
        """Copies up to `n` items.

        A key that is there from the first call to the last appears exactly once, whatever others do to the table.

        Parameters
        ----------
        cursor
            0 at first, then what the call before returned.
        values
            False to leave the values out.
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
        """All items as arrays (keys, values) of up to `n`, with the promise and the element types of `export_batch`; it
        ends when all were given."""
        cursor: int | None = 0
        while cursor is not None:
            keys, values, cursor = self.export_batch(n, cursor, dtype=dtype)
            if len(keys):
                yield Items(keys, values)

    def items(self, *, dtype: Any = None, batch: int = 1 << 12) -> Iterator[tuple[Any, Any]]:
        """Each item as (key, value), in no order: keys of 8 bytes are ints, wider ones bytes; values are bytes, or rows
        of `dtype`."""
        batch = whole("batch", batch, 1, 1 << 40)
        cursor: int | None = 0
        while cursor is not None:
            keys, rows, cursor = self.export_batch(batch, cursor, dtype=dtype)
            yield from zip(plain(keys), rows if dtype is not None else (row.tobytes() for row in rows), strict=True)

    def __iter__(self) -> Iterator[Any]:
        """Each key, in no order: an int, or bytes if keys are wider than 8."""
        for key, _ in self.items():
            yield key

    # Durable tables.

    def to_table(self, to: str | os.PathLike[str] | Pool, *, name: str | None = None, **options: Any) -> Table:
        """Makes a durable table with these items, and leaves it open.

        It has its name when all items are in it: if it cannot be made, or is interrupted, there is nothing of it, and
        with `overwrite` what was there before stays. A process that is killed meanwhile leaves a table in a `Pool`
        whose name begins with "to_table-", to be dropped.

        Parameters
        ----------
        to
            The path of a new pool file, as for `Table.create`, or an open pool.
        name
            Of the table in an open pool, as for `Pool.create_table`.
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
        """Makes a table of another name, which then takes the place of `name`."""
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
        """Closes it if not all items fit there."""
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
        """A table in memory with the items of a durable one; scores stay behind.

        Parameters
        ----------
        options
            As for `MemoryTable`; sizes are the table's, and the capacity too unless given.

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
