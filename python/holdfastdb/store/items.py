"""What a store answers: the status of an operation, an item, and what the store has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np


class StoreStatus(IntEnum):
    """The result of one operation of a store. The numbers are not those of `Status`, a table's."""

    INSERTED = 0
    """The key was absent and is now there."""
    UPDATED = 1
    """The key was there; its item was replaced, or its expiry."""
    ERASED = 2
    """The key was there and is gone."""
    FOUND = 3
    """A read found the key."""
    NOT_FOUND = 4
    """The key is absent; nothing changed."""
    EXISTS = 5
    """The key is there, and the operation wanted it absent; nothing changed."""
    MISMATCH = 6
    """The item has another CAS id, or is no number; nothing changed."""
    NO_SPACE = 7
    """There is no memory for the item; nothing changed."""
    TOO_LARGE = 8
    """The value would be larger than the store allows; nothing changed."""
    NOT_RUN = 9
    """The row of a reservation was aborted; nothing changed."""
    DAMAGED = 10
    """In C++ pipelines: the item does not match its checksum; nothing changed. In Python `PoolCorrupt` is raised."""


class StoreItem(NamedTuple):
    """What a key has."""

    value: bytes
    flags: int
    cas: int
    """Changes with each change of the item but `touch`, `get_and_touch` and `mark_stale`: for `Store.cas`. Never 0."""
    expires: float | None
    """Seconds since 1970; None: never."""
    stale: bool
    """`mark_stale` was called."""


class StoreFound(NamedTuple):
    """What `Store.get_many` put into `out`."""

    sizes: np.ndarray
    """(n,) uint64: bytes of each value, also of one that does not fit; 0: the key is absent."""
    statuses: np.ndarray
    """(n,) uint8 of StoreStatus: FOUND, NOT_FOUND, or TOO_LARGE for a row of `out`."""


@dataclass(frozen=True)
class StoreStats:
    """What a store has, and what it did since it was opened."""

    items: int
    """As `len(store)`."""
    memory_bytes: int
    limit_bytes: int
    """0: none."""
    free_bytes: int
    """Of the memory, in pieces of 2 MiB that have no item."""
    evicted: int
    """Items."""
    killed_at_open: int
    """Items whose replacement a crash interrupted."""
    damaged_at_open: int
    """Items, and pieces of 2 MiB, that did not match their checksum: their keys are absent. `check` names them."""
    damaged_pieces: int
    """Of those: pieces of 2 MiB, each of which counts as one; it is not known how many items it had."""
    open_ms: float
    """Until every key was answered."""
    index: str
    """Where it is: "cpu" or "gpu"."""
    index_failure: str
    """Why it is on the CPU although it was opened on a GPU; else empty."""


def item_of(native: Any) -> StoreItem:
    """Of what the native store returns."""
    value, flags, cas, expiry, stale = native
    return StoreItem(value, flags, cas, expiry / 1000 if expiry else None, stale)
