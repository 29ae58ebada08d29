"""A durable key-value store: expiry, conditions, counters, a memory limit and eviction."""

from .in_place import StoreLease, StoreReservation, StoreTransfer
from .items import StoreItem, StoreStats, StoreStatus
from .store import Store

__all__ = ["Store", "StoreItem", "StoreLease", "StoreReservation", "StoreStats", "StoreStatus", "StoreTransfer"]
