"""A durable key-value store: expiry, conditions, counters, a memory limit and eviction."""

from .in_place import StoreLease, StoreReservation, StoreTransfer
from .items import StoreFound, StoreItem, StoreStats, StoreStatus
from .store import Store

__all__ = [
    "Store",
    "StoreFound",
    "StoreItem",
    "StoreLease",
    "StoreReservation",
    "StoreStats",
    "StoreStatus",
    "StoreTransfer",
]
