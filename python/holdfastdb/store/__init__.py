"""A durable key-value store: expiry, conditions, counters, a memory limit and eviction."""

from .items import StoreItem, StoreStats, StoreStatus
from .store import Store

__all__ = ["Store", "StoreItem", "StoreStats", "StoreStatus"]
