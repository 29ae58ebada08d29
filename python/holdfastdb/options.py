"""How tables are made and opened: the options of `Table` and `Pool`, checked, as the native module takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from ._native import CreateOptions as NativeCreateOptions
from ._native import OpenOptions as NativeOpenOptions
from ._native import default_capacity
from .checked import MOST, device_of, flag, length, number, policy_of, score_of, whole
from .errors import InvalidArgument, InvalidType
from .messages import shown

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
    """How a process works on a table; none of it lies in the pool. `Table.create` describes each."""

    threads: int
    moves: bool
    shared_bias: int
    flush: bool
    verify: bool
    gpu: Gpu | None


class CreateOptions(WorkOptions, total=False):
    """What `Table.create` and `Pool.create_table` take by name."""

    levels: int
    hash_locations: int
    slots: int
    seed: int
    max_bytes: int
    score: str | None


class OpenOptions(WorkOptions, total=False):
    """What `Table.open` and `Pool.table` take by name."""

    key: int | type[bytes] | None
    value: int | type[bytes] | None
    salvage: bool


class OpenOrCreateOptions(OpenOptions, total=False):
    """What `Table.open(create=True)` takes by name: those of opening, and those of `Table.create`."""

    capacity: int
    levels: int
    hash_locations: int
    slots: int
    seed: int
    max_bytes: int
    score: str | None


_OF_CREATION = OpenOrCreateOptions.__annotations__.keys() - OpenOptions.__annotations__.keys()


def mode_of(mode: Any, what: str) -> str:
    if not isinstance(mode, str):
        raise InvalidType(f"mode is {shown(mode)}, of type {type(mode).__name__}: give 'r+' or 'r'")
    if mode not in MODES:
        raise InvalidArgument(f"mode is {shown(mode)}: give 'r+' to change the {what}, or 'r' to read it")
    return str(mode)


def create_options(
    key: Any,
    value: Any,
    capacity: Any,
    device: Any,
    overwrite: Any,
    *,
    levels: int = 2,
    hash_locations: int = 2,
    slots: int = 8,
    seed: int = 0,
    max_bytes: int = 0,
    score: str | None = None,
    **work: Unpack[WorkOptions],
) -> NativeCreateOptions:
    return NativeCreateOptions(
        key=length("key", key, 65536),
        value=length("value", value, 1 << 31),
        capacity=whole("capacity", capacity, 0, MOST),
        levels=whole("levels", levels, 0, 1 << 16),
        hash_locations=whole("hash_locations", hash_locations, 0, 1 << 16),
        slots=whole("slots", slots, 0, 1 << 16),
        device=device_of(device),
        overwrite=flag("overwrite", overwrite),
        seed=whole("seed", seed, 0, MOST),
        max_bytes=whole("max_bytes", max_bytes, 0, MOST),
        score=score_of(score),
        **_work_options(**work),
    )


def open_options(
    device: Any,
    mode: str,
    *,
    key: int | type[bytes] | None = None,
    value: int | type[bytes] | None = None,
    salvage: bool = False,
    **work: Unpack[WorkOptions],
) -> NativeOpenOptions:
    return NativeOpenOptions(
        device=device_of(device),
        read_only=mode == "r",
        salvage=flag("salvage", salvage),
        key=None if key is None else length("key", key, 65536, 1),
        value=None if value is None else length("value", value, 65536),
        **_work_options(**work),
    )


def open_or_create_options(
    device: Any, mode: str, given: dict[str, Any]
) -> tuple[NativeOpenOptions, NativeCreateOptions]:
    """How a pool is opened if it is there, and created if it is not. Both are checked, whichever comes."""
    if mode == "r":
        raise InvalidArgument("create=True is given with mode='r': leave one out, what is created is open for changes")
    opened = open_options(device, mode, **{name: given[name] for name in given.keys() - _OF_CREATION})
    rest = {name: value for name, value in given.items() if name not in ("key", "value", "capacity", "salvage")}
    key, value = (8 if given.get(name) is None else given[name] for name in ("key", "value"))
    return opened, create_options(key, value, given.get("capacity", default_capacity), device, False, **rest)


def _work_options(
    threads: int = 0,
    moves: bool = True,
    shared_bias: int = 2,
    flush: bool = False,
    verify: bool = False,
    gpu: Gpu | None = None,
    **unknown: Any,
) -> dict[str, Any]:
    for name in unknown:
        raise InvalidType(f"there is no option {shown(name)} here{' but with create=True' * (name in _OF_CREATION)}")
    gpu = Gpu() if gpu is None else gpu
    if not isinstance(gpu, Gpu):
        raise InvalidType(f"gpu is of type {type(gpu).__name__}: give holdfastdb.Gpu(...), or None")
    return {
        "threads": whole("threads", threads, 0, 1 << 16),
        "moves": flag("moves", moves),
        "shared_bias": whole("shared_bias", shared_bias, 0, 1 << 16),
        "flush": flag("flush", flush),
        "verify": flag("verify", verify),
        "gpu_memory": None if gpu.memory is None else whole("memory", gpu.memory, 0, MOST),
        "bucket_cache": number("bucket_cache", gpu.bucket_cache),
        "value_cache": number("value_cache", gpu.value_cache),
        "value_memory": None if gpu.value_memory is None else whole("value_memory", gpu.value_memory, 0, MOST - 1),
        "cache_policy": policy_of(gpu.cache_policy),
    }
