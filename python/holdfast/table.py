"""The durable table, as a Python program uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, NoReturn, overload

import numpy as np

from . import batch, lookup, pairs, selection
from ._native import Blobs
from ._native import Table as NativeTable
from .arrays import HOST, NUMPY
from .batch import Request, TableShape
from .column import Column
from .errors import Error, InvalidArgument, InvalidType
from .pool import CheckReport, SnapshotReport, path_text, report_from
from .status import Op

_END = (1 << 64) - 1


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidType(f"{name} is {value!r}, of type {type(value).__name__}: give a whole number")
    if not least <= value <= most:
        raise InvalidArgument(f"{name} is {value}: give {least} to {most:,}")
    return int(value)


def _length(name: str, value: Any, most: int, least: int = 0) -> int:
    """Of keys or values: a number of bytes, or the type `bytes` for any."""
    return pairs.ANY if value is bytes else _whole(name, value, least, most)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidType(f"{name} is {value!r}, of type {type(value).__name__}: give a number")
    return float(value)


def _pair(out: Any) -> tuple[Any, Any]:
    """`out=` of an operation with two results: a pair, or the array for the first alone."""
    if not isinstance(out, tuple):
        return out, None
    if len(out) != 2:
        raise InvalidArgument(f"out has {len(out)} arrays: give one for the first result, or a pair")
    return out


class Table:
    """A durable key-value table in a pool file, made with `Table.create` or `Table.open`.

    Every operation is a batch over arrays and returns when all that it acknowledged is in the pool's persistence domain
    (with arrays in GPU memory: when their stream gets there). Arrays may be NumPy's, CuPy's or PyTorch's, or anything
    that speaks DLPack, `__cuda_array_interface__` or `__array_interface__`; results come in the kind of the keys.

    keys
        Shape (n,) of uint64 or int64 (a negative key is the same 8 bytes as key + 2**64), or (n, 8) of uint8; or whole
        numbers from 0 to 2**64 - 1 as a list, or one of them. In a table of wider keys: shape (n, key_bytes) of uint8,
        (n,) of V32, S32 or records of that size; an Arrow array of fixed-size binary; or a list of bytes, each of that
        length, or one of them. In a table of any length (`create(path, bytes, bytes)`): a list or an object array of
        bytes, an Arrow array of binary or large_binary, or bytes; values likewise.
    values
        n rows of `value_bytes` bytes each: (n, value_bytes) of uint8, (n, 32) of float32 for 128 bytes, (n,) of int64
        for 8, ...; or bytes. None in a set, whose values have no bytes.
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

    Several threads may use one table at once. A call interrupted by a signal in the main thread finishes what runs and
    raises (KeyboardInterrupt for SIGINT) with the statuses as the error's attribute `statuses`.
    """

    def __init__(self) -> None:
        raise InvalidType("Table() makes no table: use holdfast.Table.create(path, ...) or holdfast.Table.open(path)")

    _native: NativeTable
    _shape: TableShape
    _mode: str

    @classmethod
    def _wrap(cls, native: NativeTable, path: str, mode: str) -> Table:
        table = object.__new__(cls)
        table._native = native
        table._mode = mode
        device = native.stats()["device"]
        table._shape = TableShape(path, native.key_bytes(), native.value_bytes(), device if native.on_gpu() else HOST)
        return table

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        key: int | type[bytes] = 8,
        value: int | type[bytes] = 8,
        capacity: int = 1 << 20,
        device: str = "auto",
        overwrite: bool = False,
        *,
        levels: int = 2,
        hash_locations: int = 2,
        slots: int = 8,
        threads: int = 0,
        moves: bool = True,
        shared_bias: int = 2,
        flush: bool = False,
        seed: int = 0,
        max_bytes: int = 0,
        gpu_memory: int | None = None,
        bucket_cache: float = 1,
        value_cache: float = 0,
        value_memory: int | None = None,
        cache_policy: str = "lfu",
    ) -> Table:
        """Makes a pool file with an empty table in it, readable by its owner alone, and opens it.

        Parameters
        ----------
        path
            Of the file. Its medium decides what the table survives: `stats()["domain"]`.
        key, value
            `bytes` for both: byte strings of any length up to 65536. Or the
            bytes of a key (8, or another multiple of 8 up to 128) and of a value (0, a set, to 65536; up to 8 live
            inside the slot). They never change.
        capacity
            Items to make room for; the table grows past it by itself.
        device
            "auto" (a GPU if there is one and the medium allows it), "cpu", "cuda" or "cuda:N".
        overwrite
            Replace an existing file.
        levels, hash_locations, slots
            The configuration, GPHash §3.1; their product is at most 32.
        threads
            CPU threads that a batch may use; 0: all, 8 at most.
        moves
            Whether an insert that finds its slots taken may move one item before the table grows.
        shared_bias
            By how many items an insert thinks a bucket fuller that several hashes share; the paper: 0.
        flush
            Flush to persistent memory on any medium, as on `dax`; for measurements.
        seed
            Of the hash; 0: random.
        max_bytes
            Address space kept for the value heap; 0: 1 TiB.
        gpu_memory
            Bytes of GPU memory that copies of the pool's buckets may take: 16 a slot of 8-byte keys. If not all fit,
            as many are kept as do; of the others, searches read the slot that they need in the pool. Default: half of
            what is free.
        bucket_cache
            The part of all buckets that have a copy at most, as far as `gpu_memory` goes: 0 (none) to 1 (all). Changes
            of a table all of whose buckets have a copy are much faster. Ignored on the CPU.
        value_cache
            The part of all values that have a copy in GPU memory, which searches read instead of the pool: 0 (none) to
            1 (all, loaded at once). Changes are written to the pool first, and then to the copy. Ignored on the CPU.
        value_memory
            Bytes of GPU memory that these copies may take; where not all fit, fewer are kept. Default: half of what is
            free.
        cache_policy
            Which buckets and values have a copy, where not all have: "lfu", those searched for most often; "lru", last;
            "random". They are chosen by `load_cache()`, and by itself as searches go on. A table begins with copies of
            the first buckets, and of no values.

        Raises
        ------
        InvalidArgument, PoolExists, PoolInUse, NoSpace, MediumError, DeviceError
        """
        text = path_text(path)
        native = NativeTable.create(
            path=text,
            key=_length("key", key, 65536),
            value=_length("value", value, 1 << 31),
            capacity=_whole("capacity", capacity, 0, _END),
            levels=_whole("levels", levels, 0, 1 << 16),
            hash_locations=_whole("hash_locations", hash_locations, 0, 1 << 16),
            slots=_whole("slots", slots, 0, 1 << 16),
            device=_device(device),
            overwrite=bool(overwrite),
            threads=_whole("threads", threads, 0, 1 << 16),
            moves=bool(moves),
            shared_bias=_whole("shared_bias", shared_bias, 0, 1 << 16),
            flush=bool(flush),
            seed=_whole("seed", seed, 0, _END),
            max_bytes=_whole("max_bytes", max_bytes, 0, _END),
            gpu_memory=None if gpu_memory is None else _whole("gpu_memory", gpu_memory, 0, _END),
            bucket_cache=_number("bucket_cache", bucket_cache),
            value_cache=_number("value_cache", value_cache),
            value_memory=None if value_memory is None else _whole("value_memory", value_memory, 0, _END - 1),
            cache_policy=_policy(cache_policy),
        )
        return cls._wrap(native, text, "r+")

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        device: str = "auto",
        mode: str = "r+",
        *,
        key: int | type[bytes] | None = None,
        value: int | type[bytes] | None = None,
        threads: int = 0,
        moves: bool = True,
        shared_bias: int = 2,
        flush: bool = False,
        salvage: bool = False,
        gpu_memory: int | None = None,
        bucket_cache: float = 1,
        value_cache: float = 0,
        value_memory: int | None = None,
        cache_policy: str = "lfu",
    ) -> Table:
        """Opens the table in a pool file, and recovers it first if it was not closed.

        Parameters
        ----------
        path, device, threads, moves, shared_bias, flush, gpu_memory, bucket_cache, value_cache, value_memory,
        cache_policy
            As for `create`.
        mode
            "r+" to change the table (one process at a time), "r" to read it (together with other readers).
        key, value
            Bytes of keys and values that the pool must have, or `bytes`, if given.
        salvage
            Open after a power cut all the same: items may be missing or damaged. With mode="r" a private copy in memory
            is recovered, what is damaged is left out (`stats()["left_out"]`), and the file is not written.

        Raises
        ------
        PoolNotFound, PoolInUse, PoolCorrupt, PoolVersion, PoolMismatch, PowerLost, MediumError, DeviceError
        """
        if mode not in ("r", "r+"):
            raise InvalidArgument(f"mode is {mode!r}: give 'r+' to change the table, or 'r' to read it")
        text = path_text(path)
        native = NativeTable.open(
            path=text,
            device=_device(device),
            read_only=mode == "r",
            threads=_whole("threads", threads, 0, 1 << 16),
            moves=bool(moves),
            shared_bias=_whole("shared_bias", shared_bias, 0, 1 << 16),
            flush=bool(flush),
            salvage=bool(salvage),
            key=None if key is None else _length("key", key, 65536, 1),
            value=None if value is None else _length("value", value, 65536),
            gpu_memory=None if gpu_memory is None else _whole("gpu_memory", gpu_memory, 0, _END),
            bucket_cache=_number("bucket_cache", bucket_cache),
            value_cache=_number("value_cache", value_cache),
            value_memory=None if value_memory is None else _whole("value_memory", value_memory, 0, _END - 1),
            cache_policy=_policy(cache_policy),
        )
        return cls._wrap(native, text, mode)

    # Operations.

    def insert(
        self,
        keys: Any,
        values: Any = None,
        *,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Adds each key with its value; a key that is there keeps its value.

        Returns
        -------
        statuses
            Shape (n,) of uint8: INSERTED, EXISTS, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.INSERT, keys, values, mask, unique, out, stream)

    def insert_or_assign(
        self,
        keys: Any,
        values: Any = None,
        *,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Adds each key with its value, or replaces the value of a key that is there.

        Returns
        -------
        statuses
            Shape (n,) of uint8: INSERTED, UPDATED, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.INSERT_OR_ASSIGN, keys, values, mask, unique, out, stream)

    def assign(
        self,
        keys: Any,
        values: Any = None,
        *,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Replaces the value of each key that is there.

        Returns
        -------
        statuses
            Shape (n,) of uint8: UPDATED, NOT_FOUND, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.ASSIGN, keys, values, mask, unique, out, stream)

    def erase(self, keys: Any, *, mask: Any = None, unique: bool = False, out: Any = None, stream: Any = None) -> Any:
        """Removes each key.

        Returns
        -------
        statuses
            Shape (n,) of uint8: ERASED, NOT_FOUND or NOT_RUN.
        """
        return self._change(Op.ERASE, keys, None, mask, unique, out, stream)

    def accumulate(
        self,
        keys: Any,
        values: Any = None,
        *,
        op: str = "add",
        scale: float = 1.0,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
    ) -> Any:
        """Combines each value with the one that is there, element by element, or adds the key with it.

        Parameters
        ----------
        values
            Rows of int32, uint32, int64, uint64, float16, bfloat16, float32 or float64: that is what is combined.
            Integers wrap. Sums of 16 bits are taken in fp32 and rounded to nearest, ties to even, once for each row.
        op
            "add", "min" or "max".
        scale
            What is added is `scale` times the value, to a new key's zero too: -0.1 subtracts a tenth of a gradient.
            The product is not rounded before the sum. For "add" and floating-point elements.

        Returns
        -------
        statuses
            Shape (n,) of uint8: UPDATED, INSERTED, NO_SPACE or NOT_RUN.
        """
        return self._change(Op.ACCUMULATE, keys, values, mask, unique, out, stream, op, _number("scale", scale))

    @overload
    def find(
        self, keys: Any, *, dtype: Any = None, mask: Any = None, unique: bool = False, out: Any = None,
        stream: Any = None, missing: Literal[False] = False, as_arrow: bool = False,
    ) -> tuple[Any, Any]: ...  # fmt: skip
    @overload
    def find(
        self, keys: Any, *, dtype: Any = None, mask: Any = None, unique: bool = False, out: Any = None,
        stream: Any = None, missing: Literal[True], as_arrow: bool = False,
    ) -> tuple[Any, Any, Any]: ...  # fmt: skip
    def find(
        self,
        keys: Any,
        *,
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        missing: bool = False,
        as_arrow: bool = False,
    ) -> Any:
        """Reads the value of each key.

        Parameters
        ----------
        dtype
            Element type of the values; bytes by default. A value of one element gives the shape (n,).
        out
            An array for the values, or a pair for both results. Values are written straight into it. If `dtype` is
            given and it is of another floating-point type, they are converted on the way, rounded to nearest.
        missing
            Give the rows of absent keys too. With arrays in GPU memory the call waits for their count.
        as_arrow
            Values of any length as an Arrow array of large_binary, instead of an object array of bytes and None.

        Returns
        -------
        values
            n rows of `value_bytes` bytes; zero where the key is absent. Of any length: bytes, and None where it is.
        found
            Shape (n,) of bool.
        missing
            If asked for: shape (m,) of int64, the numbers of the rows, rising, whose keys are absent.
        """
        values, found = _pair(out)
        request = Request(Op.FIND, keys, mask=mask, dtype=dtype, stream=stream, unique=unique, out_values=values,
                          out_found=found, give_values=True, give_found=True,
                          as_arrow=as_arrow)  # fmt: skip
        if self._shape.any_length:
            result = self._run(request)
            both = result.values, result.found
            return (*both, np.flatnonzero(~result.found)) if missing else both
        if not missing and (values is None or dtype is None):
            result = self._run(request)
            return result.values, result.found
        result, absent = lookup.find(self._native, request, self._shape, missing)
        return (result.values, result.found, absent) if missing else (result.values, result.found)

    def contains(
        self, keys: Any, *, mask: Any = None, unique: bool = False, out: Any = None, stream: Any = None
    ) -> Any:
        """Asks for each key.

        Returns
        -------
        found
            Shape (n,) of bool.
        """
        request = Request(Op.CONTAINS, keys, mask=mask, stream=stream, unique=unique, out_found=out, give_found=True)
        return self._run(request).found

    def find_or_insert(
        self,
        keys: Any,
        values: Any = None,
        *,
        init: Any = None,
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        as_arrow: bool = False,
    ) -> tuple[Any, Any]:
        """Reads the value of each key, or adds the key with the value given, or with one that `init` makes.

        Parameters
        ----------
        init
            Instead of values: a number; `holdfast.initial.Uniform(low, high, seed)`, `Normal(std, mean, seed)` or
            `Constant(value)`, drawn from each key; or a function that gets keys, and gives a row for each. It is
            called with the missing keys, or, in GPU memory, with all, so that nothing waits for the host.
        dtype
            Element type of the values; with `init`, needed unless `out` has it.
        out
            As for `find`: converted if it is of another floating-point type than `dtype`.
        as_arrow
            As for `find`.

        Returns
        -------
        values
            What is there now: n rows, of the kind of the values given unless `dtype` says otherwise. Zero where there
            was no space.
        found
            Shape (n,) of bool: the key was there before.
        """
        rows, found = _pair(out)
        request = Request(Op.FIND_OR_INSERT, keys, values, mask=mask, dtype=dtype, stream=stream, unique=unique,
                          out_values=rows, out_found=found, give_values=True, give_found=True,
                          as_arrow=as_arrow)  # fmt: skip
        if init is not None:
            if self._shape.any_length:
                raise InvalidArgument(
                    f"init makes values of fixed length, and those of {self.path} have any: give values"
                )
            result = lookup.find_or_insert(self._native, request, self._shape, init)
            return result.values, result.found
        result = self._run(request)
        return result.values, result.found

    def insert_and_find(
        self,
        keys: Any,
        values: Any = None,
        *,
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        as_arrow: bool = False,
    ) -> tuple[Any, Any]:
        """Adds each key with its value if it is absent, and reads what is there afterwards.

        Returns
        -------
        values
            As of `find_or_insert`.
        statuses
            Shape (n,) of uint8: INSERTED, EXISTS, NO_SPACE or NOT_RUN.
        """
        rows, statuses = _pair(out)
        result = self._run(
            Request(Op.INSERT_AND_FIND, keys, values, mask=mask, dtype=dtype, stream=stream, unique=unique,
                    out_values=rows, out_statuses=statuses, give_values=True, as_arrow=as_arrow)
        )  # fmt: skip
        return result.values, result.statuses

    def apply(
        self,
        ops: Any,
        keys: Any,
        values: Any = None,
        *,
        ordered: bool = False,
        combine: str = "add",
        dtype: Any = None,
        mask: Any = None,
        unique: bool = False,
        out: Any = None,
        stream: Any = None,
        as_arrow: bool = False,
    ) -> tuple[Any, Any]:
        """Runs a mixed batch: an operation of its own for each key.

        Parameters
        ----------
        ops
            Shape (n,) of uint8, codes of `holdfast.Op`; or a list of them, or of their names.
        values
            A row for each key; ignored where the operation takes no value. None if no operation takes one.
        ordered
            The changes to a key are in array order. Its reads are too if true; else each sees the state before or after
            any of the changes.
        combine
            How ACCUMULATE combines: "add", "min" or "max"; its element type is the values'.

        Returns
        -------
        statuses
            Shape (n,) of uint8.
        values
            n rows: what FIND, FIND_OR_INSERT and INSERT_AND_FIND read; zero for absent keys and for other
            operations.
        """
        statuses, rows = _pair(out)
        result = self._run(
            Request(Op.FIND, keys, values, ops=_given("ops", ops), mask=mask, dtype=dtype, stream=stream, unique=unique,
                    ordered=ordered, combine=combine, out_values=rows, out_statuses=statuses, give_values=True,
                    as_arrow=as_arrow)
        )  # fmt: skip
        return result.statuses, result.values

    def _change(
        self, op: Op, keys: Any, values: Any, mask: Any, unique: bool, out: Any, stream: Any, combine: str = "add",
        scale: float = 1.0,
    ) -> Any:  # fmt: skip
        request = Request(op, keys, values, mask=mask, unique=unique, out_statuses=out, stream=stream, combine=combine,
                          scale=scale)  # fmt: skip
        return self._run(request).statuses

    def _run(self, request: Request) -> batch.Results:
        run = pairs.run if self._shape.any_length else batch.run
        return run(self._native, request, self._shape)

    # Parts of values.

    def column(self, start: int, stop: int, dtype: Any = None) -> Column:
        """Bytes [start, stop) of every value, with operations of their own. On the CPU only, in this version.

        Parameters
        ----------
        dtype
            Element type of the rows that it reads; bytes by default.
        """
        return Column(self, start, stop, dtype)

    # The whole table.

    def export_batch(
        self, n: int = 1 << 16, cursor: int = 0, *, values: bool = True, dtype: Any = None, as_arrow: bool = False
    ) -> tuple[Any, Any, int | None]:
        """Copies up to `n` items to host memory.

        A key that is there from the first call to the last appears exactly once, with a value that it had meanwhile,
        whatever others do to the table; one that comes or goes meanwhile may or may not appear. Changes wait while some
        thousand items are copied, and not between two calls. The table remembers the last 16 exports not yet at their
        end; after a resize, and on a GPU after inserts, with 8 bytes for each key that is left.

        Parameters
        ----------
        cursor
            0 at first, then what the call before returned.
        values
            False to leave the values out.
        dtype
            Element type of the values, as for `find`.
        as_arrow
            As for `find`: keys and values of any length as Arrow arrays.

        Returns
        -------
        keys
            Shape (m,) of uint64, m ≤ n; of keys wider than 8 bytes (m, key_bytes) of uint8; of those of any length an
            object array of bytes.
        values
            m rows, or None.
        cursor
            Where to go on, or None at the end.
        """
        if self._shape.any_length:
            return self._exported_pairs(n, cursor, values, dtype, as_arrow)
        if as_arrow:
            raise InvalidArgument(f"as_arrow is for keys and values of any length, and those of {self.path} have not")
        return self._exported(self._native.export_batch, n, cursor, values, dtype)

    def export_if(
        self,
        first: Any = None,
        last: Any = None,
        *,
        where: selection.Where | None = None,
        n: int = 1 << 16,
        cursor: int = 0,
        values: bool = True,
        dtype: Any = None,
    ) -> tuple[np.ndarray, np.ndarray | None, int | None]:
        """Copies up to `n` of the items that are meant, as for `erase_if`, to host memory; else as `export_batch`."""

        def export(at: int, keys: int, rows: int, most: int) -> tuple[int, int]:
            return self._native.export_if(*self._selected(first, last, where, dtype), at, keys, rows, most)

        return self._exported(export, n, cursor, values, dtype)

    def erase_if(
        self, first: Any = None, last: Any = None, *, where: selection.Where | None = None, dtype: Any = None
    ) -> int:
        """Erases the items with keys from `first` to `last`, both included, for which `where` is true.

        Each erase is as durable and whole as one of `erase`, and all are durable when it returns. Other changes wait
        while some thousand items are looked at and erased; searches go on.

        Parameters
        ----------
        first, last
            Keys, compared as unsigned numbers, wider ones than 8 bytes byte by byte; None: no limit.
        where
            Called as `where(keys, values)` with some items at a time; returns an array of bool. It runs on the host,
            may search the table and must not change it. What it raises comes out, and what was erased before stays
            erased.
        dtype
            Element type of the values that `where` gets, as for `find`.

        Returns
        -------
        int
            How many were erased.
        """
        return int(self._native.erase_if(*self._selected(first, last, where, dtype)))

    def size_if(
        self, first: Any = None, last: Any = None, *, where: selection.Where | None = None, dtype: Any = None
    ) -> int:
        """How many items are meant, as for `erase_if`."""
        return int(self._native.size_if(*self._selected(first, last, where, dtype)))

    def items(self, *, dtype: Any = None, batch: int = 1 << 12) -> Iterator[tuple[Any, Any]]:
        """Each item as (key, value), in no order; read `batch` at a time, with the promise of `export_batch`. Keys of
        8 bytes are ints, wider ones bytes; values are bytes, or rows of `dtype`."""
        for keys, values in self._pieces(batch, True, dtype):
            for key, value in zip(_plain(keys), values, strict=True):
                yield key, value if dtype is not None or self._shape.any_length else value.tobytes()

    def __iter__(self) -> Iterator[Any]:
        """Each key, in no order: an int, or bytes if keys are wider than 8."""
        for keys, _ in self._pieces(1 << 14, False, None):
            yield from _plain(keys)

    def _pieces(self, n: int, values: bool, dtype: Any) -> Iterator[tuple[np.ndarray, Any]]:
        cursor: int | None = 0
        try:
            while cursor is not None:
                keys, rows, cursor = self.export_batch(n, cursor, values=values, dtype=dtype)
                yield keys, rows
        finally:
            if cursor:
                with suppress(Error):  # closed meanwhile
                    self._native.end_export(cursor)

    def _exported_pairs(
        self, n: int, cursor: int, values: bool, dtype: Any, as_arrow: bool
    ) -> tuple[Any, Any, int | None]:
        if dtype is not None:
            raise InvalidArgument(f"dtype is for values of fixed length, and those of {self.path} have any")
        n, cursor = _whole("n", n, 1, 1 << 40), _whole("cursor", cursor, 0, _END)
        keys, rows = Blobs(), Blobs() if values else None
        _, following = self._native.export_pairs(cursor, keys, rows, n)
        given = pairs.give(keys, as_arrow), pairs.give(rows, as_arrow) if rows is not None else None
        return *given, None if following == _END else following

    def _exported(
        self, export: Callable[[int, int, int, int], tuple[int, int]], n: int, cursor: int, values: bool, dtype: Any
    ) -> tuple[np.ndarray, np.ndarray | None, int | None]:
        n, cursor = _whole("n", n, 1, 1 << 40), _whole("cursor", cursor, 0, _END)
        keys = np.empty(n, np.uint64) if self._shape.key_bytes == 8 else np.empty((n, self._shape.key_bytes), np.uint8)
        rows = None
        if values:
            shape, made = batch.result_rows(NUMPY, n, dtype, None, self._shape.value_bytes)
            rows = np.empty(shape, made)
        count, following = export(cursor, NUMPY.pointer(keys), NUMPY.pointer(rows) if rows is not None else 0, n)
        return keys[:count], rows[:count] if rows is not None else None, None if following == _END else following

    def _selected(
        self, first: Any, last: Any, where: selection.Where | None, dtype: Any
    ) -> tuple[bytes | None, bytes | None, selection.NativeWhere | None]:
        if self._shape.any_length:
            raise InvalidArgument(
                f"items of {self.path} have keys and values of any length, which are not selected in this version: "
                "export them, choose, and erase the keys"
            )
        return (
            selection.key_bytes_of("first", first, self._shape.key_bytes),
            selection.key_bytes_of("last", last, self._shape.key_bytes),
            selection.native_where(where, self._shape, dtype),
        )

    def __len__(self) -> int:
        return int(self._native.size())

    def __contains__(self, key: Any) -> bool:
        found = self.contains([key] if isinstance(key, int | np.integer | bytes) else key)
        if found.shape != (1,):
            raise InvalidArgument(f"`in` asks for one key, and got {found.shape[0]}: use contains(keys)")
        return bool(found[0])

    def size(self) -> int:
        """Items in the table; the same as `len`."""
        return len(self)

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
    def path(self) -> str:
        """The pool file, as it was named."""
        return self._shape.path

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
        """Removes every item, durably."""
        self._native.clear()

    def reserve(self, items: int) -> None:
        """Grows so that `items` items fit without another resize. Raises NoSpace."""
        self._native.reserve(_whole("items", items, 0, _END))

    def load_cache(self) -> None:
        """Copies the buckets and values that were searched for most into GPU memory, and waits until they are there.

        How many is for `bucket_cache` and `value_cache` to say. Other batches go on meanwhile. Where all have a copy,
        or none, it does nothing.
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
        """Copies the table, as it is between two batches, into a pool file of its own, on any medium.

        Searches go on meanwhile; changing batches wait until all is copied, and the copy waits for those that run. The
        file has its name only when it is whole and on its device: interrupted, killed or out of room, nothing is there.

        Parameters
        ----------
        path
            Of the new file, readable by its owner alone.
        overwrite
            Replace an existing file, unless it is a pool that somebody has open.
        threads
            That write; 0: 4, which mostly wait for the disk.
        progress
            Called every few hundredths of a second with the bytes copied and those to copy. What it raises ends the
            snapshot. It may search the table, and must not change it.

        Raises
        ------
        PoolExists, PoolInUse, NoSpace, MediumError
        """
        if progress is not None and not callable(progress):
            raise InvalidType(f"progress is of type {type(progress).__name__}: give a function of two numbers")
        taken = self._native.snapshot(
            path_text(path), bool(overwrite), _whole("threads", threads, 0, 1 << 16), progress
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
        """Syncs, unmaps and unlocks. A second time does nothing."""
        self._native.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return f"<holdfast.Table {self.path}: closed>"
        stats = self.stats()
        load = stats["size"] / stats["slots"]
        return (
            f"<holdfast.Table {self.path}: {stats['size']:,} items, load {load:.2f}, on {self.device}, "
            f"survives {stats['domain']}>"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise InvalidType(
            f"a table cannot be pickled or copied: it is the open file {self.path}. Pass the path instead, "
            "and open it there with holdfast.Table.open(path) after closing it here (several processes may read it, "
            'with mode="r")'
        )


def _given(name: str, value: Any) -> Any:
    if value is None:
        raise InvalidType(
            f"{name} is None: give an operation for each key, codes of holdfast.Op as uint8 or a list of them"
        )
    return value


def _plain(keys: np.ndarray) -> list[Any]:
    """Keys as Python has them: whole numbers, or bytes."""
    return keys.tolist() if keys.ndim == 1 else [row.tobytes() for row in keys]


def _device(device: Any) -> str:
    if not isinstance(device, str):
        raise InvalidType(f"device is of type {type(device).__name__}: give 'auto', 'cpu', 'cuda' or 'cuda:N'")
    return device


def _policy(policy: Any) -> str:
    if not isinstance(policy, str):
        raise InvalidType(f"cache_policy is of type {type(policy).__name__}: give 'lfu', 'lru' or 'random'")
    return policy
