"""The durable table, as a Python program uses it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, NoReturn, Unpack, overload

import numpy as np

from ._native import CreateOptions as NativeCreateOptions
from ._native import OpenOptions as NativeOpenOptions
from ._native import Pool as NativePool
from ._native import Table as NativeTable
from ._native import default_capacity, table_name
from .checked import MOST, flag, function_of, whole
from .column import Column
from .contents import Contents
from .errors import InvalidType, ObjectExists, ObjectNotFound, PoolExists, PoolNotFound, ReadOnly, TableClosed
from .inspection import CheckReport, SnapshotReport, path_text, report_from
from .libraries import HOST
from .operands import TableShape
from .options import (
    CreateOptions,
    OpenOptions,
    OpenOrCreateOptions,
    create_options,
    mode_of,
    open_options,
    open_or_create_options,
)
from .schema.layout import Layout, layout_from
from .sized import Sized


def _are_signed(keys: Any) -> bool:
    """Whether keys are an array of int64, or whole numbers of which some are negative and none is beyond int64."""
    if isinstance(keys, list | tuple):
        whole_numbers = bool(len(keys)) and all(isinstance(key, int | np.integer) for key in keys)
        return whole_numbers and -(1 << 63) <= min(keys) < 0 and max(keys) < 1 << 63
    if isinstance(keys, int | np.integer) and not isinstance(keys, np.unsignedinteger):
        return bool(keys < 0)
    dtype = getattr(keys, "dtype", None)
    return bool(dtype == np.int64) if isinstance(dtype, np.dtype) else str(dtype) == "torch.int64"


def require_table(given: Any, what: str) -> None:
    """Raises InvalidType where `what`, a call that takes a durable table, was given something else."""
    if isinstance(given, Table):
        return
    instead = "give an open holdfastdb.Table"
    if isinstance(given, Column):
        instead = f"{what} takes whole values: give its table, column.table"
    elif type(given).__name__ == "MemoryTable":
        instead = f"{what} takes a durable table: make one with to_table()"
    raise InvalidType(f"table is of type {type(given).__name__}: {instead}")


_ATTEMPTS = 3
"""To open or create a pool that others create and remove meanwhile."""


def _create_in(path: str, created: NativeCreateOptions) -> NativeTable:
    """The table in a pool whose objects were all dropped."""
    return NativePool.open(path, False, False).create_table(table_name, created)


def _open_or_create(path: str, opened: NativeOpenOptions, created: NativeCreateOptions) -> NativeTable:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return NativeTable.open(path, opened)
        except ObjectNotFound:
            try:
                return _create_in(path, created)
            except ObjectExists:  # somebody else was faster
                if attempt == _ATTEMPTS:
                    raise
        except PoolNotFound:
            try:
                return NativeTable.create(path, created, None)
            except PoolExists:  # somebody else was faster
                if attempt == _ATTEMPTS:
                    raise
    raise AssertionError("every attempt returns or raises")


class Table(Sized, Contents):
    """A durable key-value table in a pool file, from `Table.create`, `Table.open`, or the same of a `Pool`.

    Every operation is a batch over arrays and returns when all that it acknowledged is in the pool's persistence domain
    (with arrays in GPU memory: when their stream gets there). Arrays may be NumPy's, CuPy's or PyTorch's, or anything
    that speaks DLPack, `__cuda_array_interface__` or `__array_interface__`; results come in the kind of the keys.

    keys
        Shape (n,) of uint64 or int64, or (n, 8) of uint8; or whole numbers from -2**63 to 2**64 - 1 as a list, or one
        of them. A negative key is the same 8 bytes as key + 2**64. Keys come back as uint64: `keys.view(np.int64)` has
        them as int64. In a table of wider keys: shape (n, key_bytes) of uint8, (n,) of V32, S32 or records of that
        size; an Arrow array of fixed-size binary; or a list of bytes, each of that length, or one of them. In a table
        of any length (`create(path, bytes, bytes)`): a list or an object array of bytes, an Arrow array of binary or
        large_binary, or bytes; values likewise.
    values
        n rows of `value_bytes` bytes each: (n, value_bytes) of uint8, (n, 32) of float32 for 128 bytes, (n,) of int64
        for 8, ...; or bytes. None in a set, whose values have no bytes.
        Keys, values and masks may be columns of pandas, Polars or Arrow, and values also frames with columns of one
        type. A table stores no nulls: the first one is refused with its row and column. A NaN is a number.
    mask
        Shape (n,) of bool; operations where it is false are not run: status NOT_RUN, results zero.
    unique
        A promise that no key repeats in the batch, which saves work. Repeated keys otherwise behave as if applied in
        array order.
    out
        Arrays to write the results into: contiguous, writable, in the same place as the keys. For two results a pair,
        or an array for the first alone.
    stream
        The CUDA stream to run on, for arrays in GPU memory; by default the current stream of the keys' library. Current
        streams of the arrays' libraries wait for it and it for them.

    Several threads may use one table at once. A signal in the main thread ends the piece of a batch that runs, of a
    hundred thousand rows or so; then its handler runs, between two pieces, and may do anything with the table. If the
    handler raises (KeyboardInterrupt for SIGINT), so does the call; if it closes the table, the call raises
    TableClosed: either way with the statuses so far as the error's attribute `statuses`. Else the batch goes on. What a
    handler, or another thread meanwhile, sees or copies is the table between two pieces: of the batch, the rows that
    have run.
    """

    def __init__(self) -> None:
        raise InvalidType(
            "Table() makes no table: use holdfastdb.Table.create(path, ...) or holdfastdb.Table.open(path)"
        )

    _native: NativeTable
    _shape: TableShape
    _mode: str
    _pool_path: str
    _number: int
    """Of the table in its pool: names may change."""
    _keys_noted = False
    """Whether its layout has a type of keys for certain."""

    @classmethod
    def _wrap(cls, native: NativeTable, pool_path: str, path: str, mode: str) -> Table:
        table = object.__new__(cls)
        table._native, table._pool_path, table._mode = native, pool_path, mode
        stats = native.stats()
        table._number = stats["object"]
        device = stats["device"] if native.on_gpu() else HOST
        table._shape = TableShape(path, native.key_bytes(), native.value_bytes(), device)
        return table

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        key: int | type[bytes] = 8,
        value: int | type[bytes] = 8,
        capacity: int = default_capacity,
        device: str = "auto",
        overwrite: bool = False,
        **options: Unpack[CreateOptions],
    ) -> Table:
        """Makes a pool file with one empty table in it, readable by its owner alone, and opens it.

        It is the short way: `Pool` has several tables in one file. Here the table's name is "table".

        Parameters
        ----------
        path
            Of the file. Its medium decides what the table survives: `stats()["domain"]`.
        key, value
            `bytes` for both: byte strings of any length up to 65536. Or the
            bytes of a key (8, or another multiple of 8 up to 128) and of a value (0, a set, to 65536; up to 8 live
            inside the slot). They never change.
        capacity
            Items to make space for; the table grows past it by itself. Default: a few thousand, in a small file.
        device
            "auto" (a GPU if there is one and the medium allows it), "cpu", "cuda" or "cuda:N".
        overwrite
            Replace a pool that nobody has open, or an empty file, and nothing else.
        levels, hash_locations, slots
            The configuration, GPHash §3.1: 2, 2 and 8; at most 5 levels, and a product of at most 32.
        threads
            CPU threads that a batch may use; 0: all, 8 at most.
        moves
            Whether an insert that finds its slots taken may move one item before the table grows: it may.
        shared_bias
            By how many items an insert thinks a bucket fuller that several hashes share: 2; the paper: 0.
        flush
            Flush to persistent memory on any medium, as on `dax`; for measurements.
        verify
            Compare the keys and values that searches and exports read with the checksum stored beside them: a call
            that meets damage raises `PoolCorrupt`. On the CPU its other rows have run then, and changes compare too.
            Searches take longer, of long values nearly twice as long. Only for keys and values of any length: those of
            fixed sizes have no checksum.
        seed
            Of the hash; 0: random.
        max_bytes
            Bytes that the value heap may have at most, whose address space is kept; 0: no limit of its own.
        gpu
            What the table keeps in GPU memory: `holdfastdb.Gpu(bucket_cache=0.2, ...)`. Ignored on the CPU.
        score
            Keep 8 more bytes with each item, by which `erase_if`, `export_if` and `size_if` can choose: "step" (`step`
            of the table when a change was called), "time" (then, in nanoseconds since 1970) or "frequency" (1 for a new
            item, one more for each change that writes it). Every change that writes a value sets its item's score;
            searches change none. Values of up to 8 bytes lie in cells too. Not with keys and values of any length, in
            this version.

        Raises
        ------
        InvalidArgument, PoolExists, PoolInUse, ObjectInUse, NoSpace, MediumError, DeviceError
        """
        text = path_text(path)
        native = NativeTable.create(text, create_options(key, value, capacity, device, overwrite, **options), None)
        return cls._wrap(native, text, text, "r+")

    @overload
    @classmethod
    def open(
        cls, path: str | os.PathLike[str], device: str = ..., mode: str = ..., *, create: Literal[False] = ...,
        **options: Unpack[OpenOptions],
    ) -> Table: ...  # fmt: skip
    @overload
    @classmethod
    def open(
        cls, path: str | os.PathLike[str], device: str = ..., mode: str = ..., *, create: Literal[True],
        **options: Unpack[OpenOrCreateOptions],
    ) -> Table: ...  # fmt: skip
    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        device: str = "auto",
        mode: str = "r+",
        *,
        create: bool = False,
        **options: Any,
    ) -> Table:
        """Opens the only table in a pool file, and recovers it first if it was not closed.

        Parameters
        ----------
        path, device, threads, moves, shared_bias, flush, verify, gpu
            As for `create`.
        mode
            "r+" to change the table (one process at a time), "r" to read it (together with other readers).
        create
            Create the pool if there is none, or the table if the pool has no object, with `key`, `value` and the
            options of `Table.create`. A table that is there is opened as it is; only `key` and `value`, where given,
            must agree. Not with mode="r".
        key, value
            Bytes of keys and values that the pool must have, or `bytes`, if given.
        salvage
            Open after a power cut all the same: items may be missing or damaged. With mode="r" a private copy in memory
            is recovered, what is damaged is left out (`stats()["left_out"]`), and the file is not written.

        Raises
        ------
        InvalidArgument
            The pool has several objects, which the message names: `Pool.open(path).table(name)` opens one.
        ObjectNotFound
            The pool has none.
        PoolNotFound, PoolInUse, ObjectInUse, PoolCorrupt, PoolVersion, PoolMismatch, PowerLost, MediumError,
        DeviceError
        """
        mode, text = mode_of(mode, "table"), path_text(path)
        if not flag("create", create):
            return cls._wrap(NativeTable.open(text, open_options(device, mode, **options)), text, text, mode)
        opened, created = open_or_create_options(device, mode, options)
        native = _open_or_create(text, opened, created)
        return cls._wrap(native, text, text, mode)

    # Parts of values.

    def column(self, start: int, stop: int, dtype: Any = None) -> Column:
        """Bytes [start, stop) of every value, with operations of their own.

        Parameters
        ----------
        dtype
            Element type of the rows that it reads; bytes by default.
        """
        return Column(self, start, stop, dtype)

    # All of it.

    @property
    def capacity(self) -> int:
        """Slots of all levels. The table grows before they are all taken, and by itself."""
        return int(self._native.slots())

    @property
    def load_factor(self) -> float:
        """Items divided by slots."""
        return float(self._native.load_factor())

    @property
    def key_bytes(self) -> int:
        """Bytes of a key; 0 with `any_length`."""
        return 0 if self._shape.any_length else self._shape.key_bytes

    @property
    def value_bytes(self) -> int:
        """Bytes of a value; 0 with `any_length`."""
        return 0 if self._shape.any_length else self._shape.value_bytes

    @property
    def any_length(self) -> bool:
        """Whether keys and values are byte strings of any length."""
        return self._shape.any_length

    @property
    def score(self) -> str | None:
        """What the table's scores say: "step", "time" or "frequency"; None if it keeps none."""
        kind = str(self._native.score())
        return None if kind == "none" else kind

    @property
    def layout(self) -> Layout:
        """What the bytes of keys and values mean, as far as loads, and keys given as int64, have said so."""
        return layout_from(self._native.description())

    def _keep_layout(self, layout: Layout) -> None:
        """Replaces it, durably."""
        self._native.describe(layout.to_text())

    def _note_keys(self, keys: Any) -> None:
        """Before a change: keys that are given as signed numbers are dumped as such, unless a load has said what they
        are."""
        if self._keys_noted or not _are_signed(keys):
            return
        layout = self.layout
        if layout.key is None and not self.any_length and self.key_bytes == 8:
            self._keep_layout(replace(layout, key="int64"))
        self._keys_noted = True

    @property
    def step(self) -> int:
        """Of a table with scores of steps: what changes set from now on. A table that is opened again begins with the
        largest one that its changes were given."""
        return int(self._native.step())

    @step.setter
    def step(self, step: int) -> None:
        step = whole("step", step, 0, MOST)
        if self._mode == "r":
            raise ReadOnly(
                f"{self.path} was opened with mode='r', and no change is given a step: open it with mode='r+'"
            )
        self._native.set_step(step)

    @property
    def device(self) -> str:
        """The machine that works on the table: "cpu" or "cuda:N"."""
        return self._shape.device

    @property
    def mode(self) -> str:
        """ "r+" or "r"."""
        return self._mode

    @property
    def closed(self) -> bool:
        """Whether the table was closed, or belongs to this process's parent."""
        return not self._native.is_open()

    def clear(self) -> None:
        """Removes every item, durably. The file keeps its size: the table uses the space for later items."""
        self._native.clear()

    def reserve(self, items: int) -> None:
        """Grows so that `items` items fit without another resize. Raises NoSpace."""
        self._native.reserve(whole("items", items, 0, MOST))

    def load_cache(self) -> None:
        """Copies the buckets and values that were searched for most into GPU memory, and waits until they are there.

        How many is for `Gpu.bucket_cache` and `Gpu.value_cache` to say. Other batches go on meanwhile. Where all have a
        copy, or none, it does nothing.
        """
        self._native.load_cache()

    def snapshot(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        threads: int = 0,
        progress: Callable[[int, int], object] | None = None,
    ) -> SnapshotReport:
        """Copies the table's pool, as it is between two batches, into a pool file of its own, on any medium.

        Searches go on meanwhile; changing batches wait until all is copied, and the copy waits for those that run. The
        file has its name only when it is whole and on its device: interrupted, killed or out of space, there is none.
        A table that is much larger than its items, after `erase` or `clear`, is as small as they are in the copy.
        A handler of a signal that interrupts a batch copies the table as it is between two pieces of that batch.

        Parameters
        ----------
        path
            Of the new file, readable by its owner alone.
        overwrite
            Replace a pool that nobody has open, or an empty file, and nothing else.
        threads
            That write; 0: 4, which mostly wait for the disk.
        progress
            Called every few hundredths of a second with the bytes copied and those to copy. What it raises ends the
            snapshot. It may do anything with the table; what changes it waits until all is copied.

        Raises
        ------
        PoolExists, PoolInUse, ObjectInUse, NoSpace, MediumError
        """
        progress = function_of(progress)
        taken = self._native.snapshot(
            path_text(path), flag("overwrite", overwrite), whole("threads", threads, 0, 1 << 16), progress
        )
        return SnapshotReport(path=path_text(path), **taken)

    def sync(self) -> None:
        """Waits for running batches, puts the file on its device, and marks the pool clean."""
        self._native.sync()

    def check(self) -> CheckReport:
        """Verifies every slot and cell."""
        return report_from(self._native.check())

    def stats(self) -> dict[str, Any]:
        """Figures about the table: machine and why it was chosen, medium, domain, counts, and times in ms."""
        return dict(self._native.stats())

    def close(self) -> None:
        """Syncs, unmaps, and unlocks what `Table.create` or `Table.open` locked. A second time does nothing."""
        self._native.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            stats = self.stats()
        except TableClosed:
            return f"<holdfastdb.Table {self.path}: closed>"
        load = stats["size"] / stats["slots"]
        return (
            f"<holdfastdb.Table {self.path}: {stats['size']:,} items, load {load:.2f}, on {self.device}, "
            f"survives {stats['domain']}>"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            f"a table cannot be pickled or copied: it is the open file {self.path}. Pass the path instead, "
            "and open it there with holdfastdb.Table.open(path) after closing it here (several processes may read it, "
            'with mode="r")'
        )
