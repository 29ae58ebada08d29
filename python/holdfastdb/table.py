"""The durable table, as a Python program uses it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from .checked import MOST, flag, function_of, whole
from .column import Column
from .contents import Contents
from .errors import InvalidType, ObjectClosed, ReadOnly
from .inspection import CheckReport, SnapshotReport, path_text, report_from
from .opening import TableFile
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


class Table(TableFile, Sized, Contents):
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
    ObjectClosed: either way with the statuses so far as the error's attribute `statuses`. Else the batch continues.
    What a handler, or another thread meanwhile, sees or copies is the table between two pieces: of the batch, the rows
    that have run.
    """

    def __init__(self) -> None:
        raise InvalidType(
            "Table() makes no table: use holdfastdb.Table.create(path, ...) or holdfastdb.Table.open(path)"
        )

    _keys_noted = False
    """Whether its layout has a type of keys for certain."""

    # Parts of values.

    def column(self, start: int, stop: int, dtype: Any = None) -> Column:
        """Bytes [start, stop) of every value, as an object with the table's operations.

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

        `Gpu.bucket_cache` and `Gpu.value_cache` say how many. Other batches run meanwhile. Where all have a copy, or
        none, it does nothing.
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
        """Copies the table's pool, as it is between two batches, into a new pool file, on any medium.

        Searches run meanwhile; changing batches wait until all is copied, and the copy waits for those that run. The
        file has its name only when it is whole and on its device: interrupted, killed or out of space, there is none.
        A table that is much larger than its items, after `erase` or `clear`, is as small as they are in the copy.
        A handler of a signal that interrupts a batch copies the table as it is between two pieces of that batch.

        Parameters
        ----------
        path
            Of the new file, readable by its owner alone.
        overwrite
            Replace a pool that no process has open, or an empty file, and nothing else.
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
        except ObjectClosed:
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
