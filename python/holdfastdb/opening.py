"""Creates and opens tables, and declares the options of these calls.

An option has its type in a TypedDict, its check where the native record is filled, and its text in `TableFile`. Its
default is that of the native record (include/holdfast/options.hpp).
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
    """Copies of a table in GPU memory, the option `gpu=`. Ignored if the backend is the CPU."""

    memory: int | None = None
    """Limit of the copies of buckets, in bytes; a slot of 8-byte keys takes 16. Buckets that do not fit have no copy.
    None: half of the free GPU memory."""
    bucket_cache: float = 1
    """Largest share of all buckets that have a copy, within `memory`: 0 (none) to 1 (all). Other buckets are read from
    the pool, over the link."""
    value_cache: float = 0
    """Share of all values that have a copy, which searches read instead of the pool: 0 (none) to 1 (all, loaded at
    open). Changes are written to the pool first, and then to the copy."""
    value_memory: int | None = None
    """Limit of the copies of values, in bytes. None: half of the free GPU memory."""
    cache_policy: Literal["lfu", "lru", "random"] = "lfu"
    """How `Table.load_cache` and automatic loads choose the buckets and values that have copies, if not all have:
    "lfu", those searched for most often; "lru", most recently; "random". After opening, the first buckets have copies,
    and no values."""


class WorkOptions(TypedDict, total=False):
    """Execution options of an open table; they are not stored in the pool."""

    threads: int
    moves: bool
    shared_bias: int
    flush: bool
    verify: bool
    gpu: Gpu | None


class _ShapeOptions(TypedDict, total=False):
    """Properties of a table, stored in its pool."""

    levels: int
    hash_locations: int
    slots: int
    seed: int
    max_bytes: int
    score: str | None


class CreateOptions(_ShapeOptions, WorkOptions, total=False):
    """Keyword options of `Table.create` and `Pool.create_table`."""


class OpenOptions(WorkOptions, total=False):
    """Keyword options of `Table.open` and `Pool.table`."""

    key: int | type[bytes] | None
    value: int | type[bytes] | None
    salvage: bool


class OpenOrCreateOptions(_ShapeOptions, OpenOptions, total=False):
    """Keyword options of `Table.open(create=True)`: those of opening, and those of `Table.create`."""

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
    shape.value_bytes = length("value", value, 65536)
    shape.capacity = whole("capacity", capacity, 0, 1 << 40)
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
    """Returns the options for opening and for creating the pool. Both are checked, whichever is used."""
    if mode == "r":
        raise InvalidArgument("create=True is given with mode='r': leave one out, what is created is open for changes")
    opened = open_options(device, mode, **{name: given[name] for name in given.keys() - _OF_CREATION})
    rest = {name: value for name, value in given.items() if name not in ("key", "value", "capacity", "salvage")}
    key, value = (8 if given.get(name) is None else given[name] for name in ("key", "value"))
    return opened, create_options(key, value, given.get("capacity", default_capacity), device, False, **rest)


_ATTEMPTS = 3
"""To open or create a pool that other processes create and remove at the same time."""


def _create_in(path: str, created: _native.CreateOptions) -> NativeTable:
    """Creates the table in a pool without objects."""
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
    """Creates and opens tables that are alone in their pool file."""

    _native: NativeTable
    _shape: TableShape
    _mode: str
    _pool_path: str
    _number: int
    """Number of the table in its pool: it does not change, unlike the name."""

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
        """Creates a pool file with one empty table, named "table", and opens it. Only its owner can read the file.

        `Pool` has several tables in one file.

        Parameters
        ----------
        path
            Path of the file. Its medium determines the persistence domain: `stats()["domain"]`.
        key, value
            Bytes of a key (8, or another multiple of 8 up to 128) and of a value (0, for a set, to 65536; values of up
            to 8 bytes are stored in their slots). Or `bytes` for both: byte strings of any length up to 65536. They
            never change.
        capacity
            Items to reserve space for; the table grows beyond it automatically. Default: a few thousand.
        device
            "auto" (a GPU if there is one and the medium allows it), "cpu", "cuda" or "cuda:N".
        overwrite
            Replace an existing pool that no process has open, or an empty file. Other files are not replaced.
        levels, hash_locations, slots
            The configuration (GPHash §3.1); default 2, 2 and 8. At most 5 levels, and a product of at most 32.
        threads
            Most CPU threads of a batch; 0, the default: all, at most 8.
        moves
            Whether an insert without a free slot may move one item before the table grows (rule 26). Default: True.
        shared_bias
            Number of items that an insert adds to the load of a bucket that several of its hash locations address.
            Default: 2; in the paper: 0.
        flush
            Run the protocol of domain `power` on any medium, for measurements. It does not raise the domain.
        verify
            Compare the pairs that searches and exports read with their checksums: a call that meets damage raises
            `PoolCorrupt`. On the CPU its other rows have then run, and changes compare too. Searches of long values
            take nearly twice as long. Only for keys and values of any length: fixed sizes have no checksum.
        seed
            Seed of the hash; 0: random.
        max_bytes
            Limit of the value heap in bytes, whose address space is reserved; 0: limited only by the medium.
        gpu
            Copies in GPU memory: `holdfastdb.Gpu(bucket_cache=0.2, ...)`. Ignored on the CPU.
        score
            Store 8 more bytes with each item, by which `erase_if`, `export_if` and `size_if` can select: "step" (`step`
            of the table when the change was called), "time" (in nanoseconds since 1970) or "frequency" (the number of
            changes that wrote the item). Every change that writes a value sets its item's score; searches do not.
            Values of up to 8 bytes are then in cells too. Not for keys and values of any length.

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
            Create the pool if it does not exist, or the table if the pool has no object, with `key`, `value` and the
            options of `Table.create`. For an existing table only `key` and `value` are checked, if given. Not with
            mode="r".
        key, value
            If given: the bytes of keys and values that the table must have, or `bytes`.
        salvage
            Open the table also after a power failure: items may be missing or damaged. With mode="r" a private copy in
            memory is recovered without what is damaged (`stats()["left_out"]`), and the file is not written.

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
