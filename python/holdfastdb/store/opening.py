"""Finds the object of a pool that a Store opens, or creates it, and the pool, where nothing says that they exist.

Checks which GPUs have its index."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._native import Pool as NativePool
from .._native import Store as NativeStore
from .._native import StoreOptions as NativeOptions
from ..checked import whole
from ..errors import InvalidArgument, InvalidType, ObjectNotFound, PoolExists, PoolMismatch, PoolNotFound
from ..inspection import ObjectInfo, path_text
from ..messages import shown
from ..pool import Pool

NEW_NAME = "store"
"""Of a store that is created without a name."""
LIMITS = 4 << 20, 1 << 40
"""Of the memory for items, in bytes."""
_ATTEMPTS = 3
"""To open or create a pool that other processes create and remove at the same time."""
_MOST_SHOWN = 8
_MOST_DEVICES = 256


def device_numbers(devices: Sequence[int]) -> list[int]:
    if isinstance(devices, str | bytes) or not isinstance(devices, Sequence):
        raise InvalidType(
            f"devices is {shown(devices)}, of type {type(devices).__name__}: give numbers of GPUs, as (0, 1)"
        )
    if len(devices) > _MOST_DEVICES:
        raise InvalidArgument(f"devices has {len(devices):,} numbers: give up to {_MOST_DEVICES}")
    return [whole("devices", device, 0, (1 << 31) - 1) for device in devices]


def limit_of(limit: Any) -> int:
    if type(limit) is int and limit and not LIMITS[0] <= limit <= LIMITS[1]:
        raise InvalidArgument(f"limit is {shown(limit)}: give 4 MiB to 1 TiB, in bytes, or 0 for none")
    return whole("limit", limit, 0, LIMITS[1])


class Opened(NamedTuple):
    """A store, its name, and its pool."""

    native: NativeStore
    name: str
    pool: Pool


def open_store(pool: Any, name: str | None, mode: str | None, options: NativeOptions) -> Opened:
    """Opens the store, or creates it if `mode` is None. Of an error nothing stays: no file, no object, no open pool."""
    if not isinstance(pool, str | bytes | os.PathLike | Pool):
        raise InvalidType(f"pool is {shown(pool)}, of type {type(pool).__name__}: give a path, or a holdfastdb.Pool")
    if not isinstance(pool, Pool):
        return _open_at(path_text(pool), name, mode, options)
    if mode not in (None, pool.mode):
        raise InvalidArgument(f"mode is {shown(mode)}, and the pool's {shown(pool.mode)}: leave it out")
    return _open_in(pool, name, mode is None and pool.mode == "r+", options)


def _open_at(path: str, name: str | None, mode: str | None, options: NativeOptions) -> Opened:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            pool = Pool.open(path, mode or "r+")
        except PoolNotFound:
            if mode == "r":
                raise
            if mode is not None:
                raise PoolNotFound(f"{path} does not exist; correct the path, or leave mode out to create it") from None
            try:
                return _create_at(path, name or NEW_NAME, options)
            except PoolExists:  # another process was faster
                if attempt == _ATTEMPTS:
                    raise
            continue
        try:
            return _open_in(pool, name, mode is None, options)
        except BaseException:
            pool.close()
            raise
    raise AssertionError("every attempt returns or raises")


def _create_at(path: str, name: str, options: NativeOptions) -> Opened:
    native_pool, native = NativeStore.create_in_new_pool(path, name, options)
    return Opened(native, name, Pool._wrap(native_pool, path, "r+"))


def _open_in(pool: Pool, name: str | None, creates: bool, options: NativeOptions) -> Opened:
    name = _only_store(pool, creates) if name is None else name
    native_pool: NativePool = pool._native
    try:
        return Opened(NativeStore.open(native_pool, name, options), name, pool)
    except ObjectNotFound:
        if not creates:
            raise
        return Opened(NativeStore.create(native_pool, name, options), name, pool)


def _only_store(pool: Pool, creates: bool) -> str:
    """The name of the only object, as `Table.open` finds it; in a pool without objects, that of a new store."""
    objects = pool.objects
    if not objects:
        if creates:
            return NEW_NAME
        raise ObjectNotFound(f"{pool.path} is a pool without objects: leave mode out to create a store in it")
    stores = [found.name for found in objects if found.type == "store"]
    if not stores:
        advice = f'give name="{NEW_NAME}" to add one, or another path' if creates else "give the path of another pool"
        raise PoolMismatch(f"{pool.path} has {_described(objects)} and no store: {advice}")
    if len(objects) > 1:
        raise InvalidArgument(
            f"{pool.path} has {_described(objects)}: give the name of the one to open, such as name={stores[0]!r}"
        )
    return stores[0]


def _described(objects: Sequence[ObjectInfo]) -> str:
    """ "the table t", "the table t and the store s", "the store a, ... and 4 more"."""
    named = [f"the {found.type} {found.name}" for found in objects[:_MOST_SHOWN]]
    left = len(objects) - len(named)
    last = f"{left} more" if left else named.pop()
    return f"{', '.join(named)} and {last}" if named else last
