"""How tables are made and opened: the options of `Table` and `Pool`, checked, as the native module takes them."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from ._native import CreateOptions as NativeCreateOptions
from ._native import OpenOptions as NativeOpenOptions
from .checked import MOST, device_of, length, number, policy_of, score_of, whole
from .errors import InvalidArgument

MODES = ("r", "r+")


class WorkOptions(TypedDict, total=False):
    """How a process works on a table; none of it lies in the pool. `Table.create` describes each."""

    threads: int
    moves: bool
    shared_bias: int
    flush: bool
    gpu_memory: int | None
    bucket_cache: float
    value_cache: float
    value_memory: int | None
    cache_policy: str


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


def mode_of(mode: Any, what: str) -> str:
    if mode not in MODES:
        raise InvalidArgument(f"mode is {mode!r}: give 'r+' to change the {what}, or 'r' to read it")
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
        overwrite=bool(overwrite),
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
        salvage=bool(salvage),
        key=None if key is None else length("key", key, 65536, 1),
        value=None if value is None else length("value", value, 65536),
        **_work_options(**work),
    )


def _work_options(
    threads: int = 0,
    moves: bool = True,
    shared_bias: int = 2,
    flush: bool = False,
    gpu_memory: int | None = None,
    bucket_cache: float = 1,
    value_cache: float = 0,
    value_memory: int | None = None,
    cache_policy: str = "lfu",
) -> dict[str, Any]:
    return {
        "threads": whole("threads", threads, 0, 1 << 16),
        "moves": bool(moves),
        "shared_bias": whole("shared_bias", shared_bias, 0, 1 << 16),
        "flush": bool(flush),
        "gpu_memory": None if gpu_memory is None else whole("gpu_memory", gpu_memory, 0, MOST),
        "bucket_cache": number("bucket_cache", bucket_cache),
        "value_cache": number("value_cache", value_cache),
        "value_memory": None if value_memory is None else whole("value_memory", value_memory, 0, MOST - 1),
        "cache_policy": policy_of(cache_policy),
    }
