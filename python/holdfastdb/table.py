"""The class `Table`: the durable table."""

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
from .errors import Error, InvalidType, ObjectClosed, ReadOnly
from .inspection import CheckReport, SnapshotReport, path_text, report_from
from .opening import TableFile
from .schema.layout import Layout, layout_from
from .sized import Sized


def _are_signed(keys: Any) -> bool:
    """Returns whether keys are an array of int64, or integers within int64 of which some are negative."""
    if isinstance(keys, list | tuple):
        whole_numbers = bool(len(keys)) and all(isinstance(key, int | np.integer) for key in keys)
        return whole_numbers and -(1 << 63) <= min(keys) < 0 and max(keys) < 1 << 63
    if isinstance(keys, int | np.integer) and not isinstance(keys, np.unsignedinteger):
        return bool(keys < 0)
    dtype = getattr(keys, "dtype", None)
    return bool(dtype == np.int64) if isinstance(dtype, np.dtype) else str(dtype) == "torch.int64"


def require_table(given: Any, what: str) -> None:
    """Raises InvalidType unless `given` is a Table. `what` names the call."""
    if isinstance(given, Table):
        return
    instead = "give an open holdfastdb.Table"
    kind = type(given).__name__
    if kind == "Store":
        instead = "set_many() stores many items" if what == "load" else "scan() yields its items"
        raise InvalidType(f"{what} takes a table, and {given.path} is a store: {instead}")
    if isinstance(given, Column):
        instead = f"{what} takes whole values: give its table, column.table"
    elif kind == "MemoryTable":
        instead = f"{what} takes a durable table: make one with to_table()"
    raise InvalidType(f"table is of type {kind}: {instead}")


class Table(TableFile, Sized, Contents):
    """A durable key-value table in a pool file, from `Table.create`, `Table.open`, or the same of a `Pool`.

    Every operation is a batch over arrays. When it returns, everything it acknowledged is in the pool's persistence
    domain (with arrays in GPU memory: when their stream has finished it). Arrays may be NumPy's, CuPy's or PyTorch's,
    or support DLPack, `__cuda_array_interface__` or `__array_interface__`; results are of the same kind as the keys.

    keys
        Shape (n,) of uint64 or int64, or (n, 8) of uint8; or an integer from -2**63 to 2**64 - 1, or a list of them. A
        negative key is the same 8 bytes as key + 2**64. Keys are returned as uint64; `keys.view(np.int64)` converts
        them. In a table of wider keys: shape (n, key_bytes) of uint8, (n,) of V32, S32 or records of that size; an
        Arrow array of fixed-size binary; or bytes of that length, or a list of them. In a table of any length
        (`create(path, bytes, bytes)`): a list or an object array of bytes, an Arrow array of binary or large_binary, or
        bytes; values likewise.
    values
        n rows of `value_bytes` bytes each: (n, value_bytes) of uint8, (n, 32) of float32 for 128 bytes, (n,) of int64
        for 8, ...; or bytes. None in a set, whose values have no bytes.
        Keys, values and masks may be columns of pandas, Polars or Arrow, and values also frames with columns of one
        type. A table stores no nulls: the first one is refused with its row and column. A NaN is a number.
    mask
        Shape (n,) of bool; a row where it is false is not executed: status NOT_RUN, results zero.
    unique
        The caller promises that no key repeats in the batch, which saves work. Otherwise rows with equal keys take
        effect in array order.
    out
        Arrays for the results: contiguous, writable, in the same memory as the keys. For two results a pair, or an
        array for the first one only.
    stream
        The CUDA stream of the batch, for arrays in GPU memory; by default the current stream of the keys' library. The
        current streams of the arrays' libraries wait for it, and it waits for them.

    Several threads may use one table at once. A batch of the main thread runs in sub-batches of about a hundred
    thousand rows. The handler of a signal runs between two of them and may do anything with the table; it sees the rows
    that have run. If the handler raises (KeyboardInterrupt for SIGINT), the call raises that error; if it closes the
    table, the call raises ObjectClosed. Both have the statuses so far as the attribute `statuses`. Otherwise the batch
    continues.
    """

    def __init__(self) -> None:
        raise InvalidType(
            "Table() makes no table: use holdfastdb.Table.create(path, ...) or holdfastdb.Table.open(path)"
        )

    _keys_noted = False
    """Whether the layout is known to have a type of keys."""

    # Parts of values.

    def column(self, start: int, stop: int, dtype: Any = None) -> Column:
        """Returns an object with the table's operations, restricted to bytes [start, stop) of every value.

        Parameters
        ----------
        dtype
            Element type of the rows that it returns; bytes by default.
        """
        return Column(self, start, stop, dtype)

    # All of it.

    @property
    def capacity(self) -> int:
        """Number of slots of all levels. The table grows automatically before all are occupied."""
        return int(self._native.slots())

    @property
    def load_factor(self) -> float:
        """Number of items divided by number of slots."""
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
        """Kind of the table's scores: "step", "time" or "frequency"; None if it has none."""
        kind = str(self._native.score())
        return None if kind == "none" else kind

    @property
    def layout(self) -> Layout:
        """Types of keys and values, as far as loads, and keys of int64, have determined them."""
        return layout_from(self._native.description())

    def _keep_layout(self, layout: Layout) -> None:
        """Replaces the layout, durably."""
        self._native.describe(layout.to_text())

    def _note_keys(self, keys: Any) -> None:
        """Stores before a change that keys are int64, so that `dump` writes them as such, unless a load has determined
        their type."""
        if self._keys_noted or not _are_signed(keys):
            return
        layout = self.layout
        if layout.key is None and not self.any_length and self.key_bytes == 8:
            self._keep_layout(replace(layout, key="int64"))
        self._keys_noted = True

    @property
    def step(self) -> int:
        """The step that later changes store as score, in a table with scores of kind "step". After opening, the largest
        step of its changes."""
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
        """The backend: "cpu" or "cuda:N"."""
        return self._shape.device

    @property
    def mode(self) -> str:
        """ "r+" or "r"."""
        return self._mode

    @property
    def closed(self) -> bool:
        """Whether the table was closed, or was opened by this process's parent."""
        return not self._native.is_open()

    def clear(self) -> None:
        """Removes every item, durably. The file keeps its size; later items use the space."""
        self._native.clear()

    def reserve(self, items: int) -> None:
        """Grows the table so that it holds `items` items without another resize. Raises NoSpace."""
        self._native.reserve(whole("items", items, 0, 1 << 40))

    def load_cache(self) -> None:
        """Copies the buckets and values that `Gpu.cache_policy` chooses into GPU memory, and waits for the copies.

        `Gpu.bucket_cache` and `Gpu.value_cache` limit their number. Other batches run at the same time. Does nothing if
        all have a copy, or none may have one.
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

        The copy begins when the running changing batches have ended; later ones wait until it is complete. Searches
        continue. The file gets its name when it is complete and on its device; if the snapshot is interrupted or
        killed, or runs out of space, there is no such file. The copy of a table that is much larger than its items is
        as small as they are. A signal handler that interrupts a batch copies the table between two sub-batches.

        Parameters
        ----------
        path
            Path of the new file. Only its owner can read it.
        overwrite
            Replace an existing pool that no process has open, or an empty file. Other files are not replaced.
        threads
            Number of threads that write; 0: 4.
        progress
            Called every few hundredths of a second with the bytes copied and the bytes to copy. If it raises, the
            snapshot ends with that error. It may use the table; a change waits until the copy is complete.

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
        """Waits for running batches, writes the file to its device, and marks the table clean."""
        self._native.sync()

    def check(self) -> CheckReport:
        """Verifies every slot and cell. Writes nothing."""
        return report_from(self._native.check())

    def stats(self) -> dict[str, Any]:
        """Returns figures of the table: backend and why it was chosen, medium, domain, counts, and times in ms."""
        return dict(self._native.stats())

    def close(self) -> None:
        """Syncs and closes the table, and its pool if that was opened with it. A second call does nothing."""
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
        except Error as error:  # its medium failed
            return f"<holdfastdb.Table {self.path}: {type(error).__name__}>"
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
