"""How tables are created and opened, and the options of these calls.

An option is declared here alone: its type in a TypedDict, its check where the native record is filled, its text in
`TableFile`. Its default is the native record's, which is C++'s (include/holdfast/options.hpp).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, Self, TypedDict, Unpack, overload

from . import _native
from ._native import Pool as NativePool
from ._native import Table as NativeTable
from ._native import default_capacity, table_name
from .checked import MOST, flag, length, number, whole, word
from .errors import InvalidArgument, InvalidType, ObjectExists, ObjectNotFound, PoolExists, PoolNotFound
from .inspection import path_text
from .libraries import HOST
from .messages import shown
from .operands import TableShape

MODES = ("r", "r+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """What a table keeps in GPU memory, given as `gpu=`. Ignored where the CPU works on the table."""

    memory: int | None = None
    """Bytes that copies of the pool's buckets may take: 16 a slot of 8-byte keys. If not all fit, as many are kept as
    do; of the others, searches read the slot that they need in the pool. None: half of what is free."""
    bucket_cache: float = 1
    """The part of all buckets that have a copy at most, as far as `memory` goes: 0 (none) to 1 (all). What has no copy
    is read in the pool, over the link."""
    value_cache: float = 0
    """The part of all values that have a copy, which searches read instead of the pool: 0 (none) to 1 (all, loaded at
    once). Changes are written to the pool first, and then to the copy."""
    value_memory: int | None = None
    """Bytes that copies of values may take; where not all fit, fewer are kept. None: half of what is free."""
    cache_policy: Literal["lfu", "lru", "random"] = "lfu"
    """Which buckets and values have a copy, where not all have: "lfu", those searched for most often; "lru", last;
    "random". They are chosen by `Table.load_cache`, and automatically during searches. A table begins with copies of
    the first buckets, and of no values."""


class WorkOptions(TypedDict, total=False):
    """How a process works on a table; none of it lies in the pool."""

    threads: int
    moves: bool
    shared_bias: int
    flush: bool
    verify: bool
    gpu: Gpu | None


class _ShapeOptions(TypedDict, total=False):
    """What a table is."""

    levels: int
    hash_locations: int
    slots: int
    seed: int
    max_bytes: int
    score: str | None


class CreateOptions(_ShapeOptions, WorkOptions, total=False):
    """What `Table.create` and `Pool.create_table` take by name."""


class OpenOptions(WorkOptions, total=False):
    """What `Table.open` and `Pool.table` take by name."""

    key: int | type[bytes] | None
    value: int | type[bytes] | None
    salvage: bool


class OpenOrCreateOptions(_ShapeOptions, OpenOptions, total=False):
    """What `Table.open(create=True)` takes by name: those of opening, and those of `Table.create`."""

    capacity: int


_OF_CREATION = OpenOrCreateOptions.__annotations__.keys() - OpenOptions.__annotations__


def mode_of(mode: Any, what: str) -> str:
    if not isinstance(mode, str):
        raise InvalidType(f"mode is {shown(mode)}, of type {type(mode).__name__}: give 'r+' or 'r'")
    if mode not in MODES:
        raise InvalidArgument(f"mode is {shown(mode)}: give 'r+' to change the {what}, or 'r' to read it")
    return str(mode)


def _require_known(given: Any, known: type) -> None:
    """Raises InvalidType for a name that is no option of the call."""
    for name in given.keys() - known.__annotations__.keys():
        raise InvalidType(f"there is no option {shown(name)} here{' but with create=True' * (name in _OF_CREATION)}")


def _set_work(made: _native.CreateOptions | _native.OpenOptions, device: Any, given: WorkOptions) -> None:
    runtime, tuning = made.runtime, made.tuning
    runtime.device = word("device", device, "'auto', 'cpu', 'cuda' or 'cuda:N'", "cuda:0")
    runtime.threads = whole("threads", given.get("threads", runtime.threads), 0, 1 << 16)
    runtime.verify = flag("verify", given.get("verify", runtime.verify))
    tuning.moves = flag("moves", given.get("moves", tuning.moves))
    tuning.shared_bias = whole("shared_bias", given.get("shared_bias", tuning.shared_bias), 0, 1 << 16)
    tuning.flush = flag("flush", given.get("flush", tuning.flush))
    if (gpu := given.get("gpu")) is not None:
        _set_gpu(made.gpu, gpu)


def _set_gpu(made: _native.Gpu, gpu: Gpu) -> None:
    if not isinstance(gpu, Gpu):
        raise InvalidType(f"gpu is of type {type(gpu).__name__}: give holdfastdb.Gpu(...), or None")
    if gpu.memory is not None:
        made.memory = whole("memory", gpu.memory, 0, MOST)
    cache = made.cache
    cache.bucket_ratio = number("bucket_cache", gpu.bucket_cache)
    cache.ratio = number("value_cache", gpu.value_cache)
    if gpu.value_memory is not None:
        cache.memory = whole("value_memory", gpu.value_memory, 0, MOST - 1)
    cache.policy = word("cache_policy", gpu.cache_policy, "'lfu', 'lru' or 'random'", "lfu")


def create_options(
    key: Any, value: Any, capacity: Any, device: Any, overwrite: Any, **given: Unpack[CreateOptions]
) -> _native.CreateOptions:
    _require_known(given, CreateOptions)
    made = _native.CreateOptions()
    shape = made.shape
    shape.key_bytes = length("key", key, 65536)
    shape.value_bytes = length("value", value, 1 << 31)
    shape.capacity = whole("capacity", capacity, 0, MOST)
    shape.levels = whole("levels", given.get("levels", shape.levels), 0, 1 << 16)
    shape.hash_locations = whole("hash_locations", given.get("hash_locations", shape.hash_locations), 0, 1 << 16)
    shape.slots = whole("slots", given.get("slots", shape.slots), 0, 1 << 16)
    shape.seed = whole("seed", given.get("seed", shape.seed), 0, MOST)
    shape.max_bytes = whole("max_bytes", given.get("max_bytes", shape.max_bytes), 0, MOST)
    if (score := given.get("score")) is not None:
        shape.score = word("score", score, "'step', 'time', 'frequency' or None", "step")
    made.overwrite = flag("overwrite", overwrite)
    _set_work(made, device, given)
    return made


def open_options(device: Any, mode: str, **given: Unpack[OpenOptions]) -> _native.OpenOptions:
    _require_known(given, OpenOptions)
    made = _native.OpenOptions()
    made.read_only = mode == "r"
    made.salvage = flag("salvage", given.get("salvage", made.salvage))
    if (key := given.get("key")) is not None:
        made.key_bytes = length("key", key, 65536, 1)
    if (value := given.get("value")) is not None:
        made.value_bytes = length("value", value, 65536)
    _set_work(made, device, given)
    return made


def _open_or_create_options(
    device: Any, mode: str, given: dict[str, Any]
) -> tuple[_native.OpenOptions, _native.CreateOptions]:
    """How a pool is opened if it is there, and created if it is not. Both are checked, whichever comes."""
    if mode == "r":
        raise InvalidArgument("create=True is given with mode='r': leave one out, what is created is open for changes")
    opened = open_options(device, mode, **{name: given[name] for name in given.keys() - _OF_CREATION})
    rest = {name: value for name, value in given.items() if name not in ("key", "value", "capacity", "salvage")}
    key, value = (8 if given.get(name) is None else given[name] for name in ("key", "value"))
    return opened, create_options(key, value, given.get("capacity", default_capacity), device, False, **rest)


_ATTEMPTS = 3
"""To open or create a pool that others create and remove meanwhile."""


def _create_in(path: str, created: _native.CreateOptions) -> NativeTable:
    """The table in a pool whose objects were all dropped."""
    return NativePool.open(path, False, False).create_table(table_name, created)


def _open_or_create(path: str, opened: _native.OpenOptions, created: _native.CreateOptions) -> NativeTable:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return NativeTable.open(path, opened)
        except ObjectNotFound:
            try:
                return _create_in(path, created)
            except ObjectExists:  # another process was faster
                if attempt == _ATTEMPTS:
                    raise
        except PoolNotFound:
            try:
                return NativeTable.create(path, created, None)
            except PoolExists:  # another process was faster
                if attempt == _ATTEMPTS:
                    raise
    raise AssertionError("every attempt returns or raises")


class TableFile:
    """How a table is made or opened that is alone in its pool file."""

    _native: NativeTable
    _shape: TableShape
    _mode: str
    _pool_path: str
    _number: int
    """Of the table in its pool: names may change."""

    @classmethod
    def _wrap(cls, native: NativeTable, pool_path: str, path: str, mode: str) -> Self:
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
    ) -> Self:
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
            Replace a pool that no process has open, or an empty file, and nothing else.
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
            Bytes that the value heap may have at most, whose address space is kept; 0: no limit but that of the medium.
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
    ) -> Self: ...  # fmt: skip
    @overload
    @classmethod
    def open(
        cls, path: str | os.PathLike[str], device: str = ..., mode: str = ..., *, create: Literal[True],
        **options: Unpack[OpenOrCreateOptions],
    ) -> Self: ...  # fmt: skip
    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        device: str = "auto",
        mode: str = "r+",
        *,
        create: bool = False,
        **options: Any,
    ) -> Self:
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
        opened, created = _open_or_create_options(device, mode, options)
        native = _open_or_create(text, opened, created)
        return cls._wrap(native, text, text, mode)
