"""The operations of a store on one key."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import Store as NativeStore
from ..checked import MOST, whole
from ..errors import InvalidArgument, InvalidType, NoSpace
from ..inspection import store_no_space
from ..messages import shown
from .items import StoreItem, StoreStatus, item_of
from .times import expiry_of

_PIECE = 2 << 20
"""By which the memory of a store grows."""


def _bytes(name: str, given: Any) -> bytes:
    if type(given) is bytes:
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    what = "encode it" if isinstance(given, str) else "give bytes"
    if isinstance(given, np.ndarray):
        what += f", such as {name}.tobytes()"
    raise InvalidType(f"{name} is {shown(given)}, of type {type(given).__name__}: {what}")


class SingleKeys:
    """What `Store` can do with one key."""

    _native: NativeStore
    _path: str
    _pool_path: str
    _evicts: bool

    def __getitem__(self, key: bytes) -> bytes:
        value = self._native.get(_bytes("key", key))
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.set(key, value)

    def __delitem__(self, key: bytes) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return self._native.contains(_bytes("key", key))

    def __len__(self) -> int:
        """Items. 0 after `flush_all`. Those that have expired count until their memory is needed or `reclaim` gives it
        back; those that were flushed too, as long as there were as many changes since."""
        return self._native.size()

    def get(self, key: bytes, default: bytes | None = None) -> bytes | None:
        """The key's value, or `default`."""
        value = self._native.get(_bytes("key", key))
        return default if value is None else value

    def item(self, key: bytes) -> StoreItem | None:
        """The key's value with flags, CAS id and expiry; None if it is absent."""
        native = self._native.item(_bytes("key", key))
        return None if native is None else item_of(native)

    def set(
        self, key: bytes, value: bytes, *, ttl: float | None = None, expires: float | None = None, flags: int = 0
    ) -> StoreStatus:
        """Gives the key an item, whatever it had: INSERTED or UPDATED. Durable when it returns.

        Parameters
        ----------
        ttl
            Seconds from now, more than 0, after which the key is absent. None: the item never expires.
        expires
            The same in seconds since 1970. It may be in the past: then the key is absent at once.
        flags
            32 bits that are kept with the item.

        Raises
        ------
        NoSpace
            Nothing has changed then.
        InvalidArgument, ReadOnly, ObjectClosed, MediumError
        """
        return self._put(key, value, 0, ttl, expires, flags)

    def add(
        self, key: bytes, value: bytes, *, ttl: float | None = None, expires: float | None = None, flags: int = 0
    ) -> StoreStatus:
        """The same, unless the key is there: INSERTED or EXISTS."""
        return self._put(key, value, 1, ttl, expires, flags)

    def replace(
        self, key: bytes, value: bytes, *, ttl: float | None = None, expires: float | None = None, flags: int = 0
    ) -> StoreStatus:
        """The same, only if the key is there: UPDATED or NOT_FOUND."""
        return self._put(key, value, 2, ttl, expires, flags)

    def cas(
        self,
        key: bytes,
        value: bytes,
        expected: int,
        *,
        ttl: float | None = None,
        expires: float | None = None,
        flags: int = 0,
    ) -> StoreStatus:
        """The same, only if the key's item has the CAS id `expected` (`StoreItem.cas`): UPDATED, MISMATCH or NOT_FOUND.
        No item has the id 0."""
        return self._put(key, value, 3, ttl, expires, flags, whole("expected", expected, 0, MOST))

    def append(self, key: bytes, value: bytes) -> StoreStatus:
        """Puts bytes behind the key's value: UPDATED, NOT_FOUND or TOO_LARGE."""
        return self._stored(self._native.extend(_bytes("key", key), _bytes("value", value), False))

    def prepend(self, key: bytes, value: bytes) -> StoreStatus:
        """Puts bytes before the key's value: UPDATED, NOT_FOUND or TOO_LARGE."""
        return self._stored(self._native.extend(_bytes("key", key), _bytes("value", value), True))

    def increment(self, key: bytes, by: int = 1) -> int | None:
        """Adds to a value that is a number below 2^64, in 1 to 20 decimal digits, modulo 2^64. Flags and expiry remain.
        Returns the new number; None: the key is absent, and stays so.

        Parameters
        ----------
        by
            0 to 2^64 - 1.

        Raises
        ------
        InvalidArgument
            The value is no such number.
        NoSpace
        """
        return self._count(key, by, False)

    def decrement(self, key: bytes, by: int = 1) -> int | None:
        """The same, subtracts, and stops at 0."""
        return self._count(key, by, True)

    def touch(self, key: bytes, *, ttl: float | None = None, expires: float | None = None) -> bool:
        """Gives the key's item another expiry; without `ttl` and `expires` it never expires. Returns whether the key is
        present."""
        status = self._native.touch(_bytes("key", key), self._expiry(ttl, expires))
        return status == StoreStatus.UPDATED

    def get_and_touch(self, key: bytes, *, ttl: float | None = None, expires: float | None = None) -> StoreItem | None:
        """The same, and returns the item, as one change; None if the key is absent."""
        native = self._native.get_and_touch(_bytes("key", key), self._expiry(ttl, expires))
        return None if native is None else item_of(native)

    def mark_stale(self, key: bytes, *, ttl: float | None = None, expires: float | None = None) -> bool:
        """Marks the key's item as stale, and gives it another expiry, if one is given. Returns whether the key is
        present."""
        status = self._native.mark_stale(_bytes("key", key), self._expiry(ttl, expires))
        return status == StoreStatus.UPDATED

    def delete(self, key: bytes, expected: int = 0) -> bool:
        """Removes the key's item; with `expected`, a CAS id other than 0, only if it has that id.

        Returns whether it was removed: False if the key is absent, or its item has another id."""
        status = self._native.erase(_bytes("key", key), whole("expected", expected, 0, MOST))
        return status == StoreStatus.ERASED

    # What they share.

    def _expiry(self, ttl: float | None, expires: float | None) -> int:
        """In milliseconds since 1970; 0: never."""
        return expiry_of(ttl, expires, self._native)

    def _put(
        self,
        key: bytes,
        value: bytes,
        how: int,
        ttl: float | None,
        expires: float | None,
        flags: int,
        expected: int = 0,
    ) -> StoreStatus:
        expiry = 0 if ttl is None and expires is None else self._expiry(ttl, expires)
        flags = whole("flags", flags, 0, (1 << 32) - 1)
        return self._stored(self._native.put(_bytes("key", key), _bytes("value", value), how, flags, expiry, expected))

    def _stored(self, code: int) -> StoreStatus:
        if code == StoreStatus.NO_SPACE:
            raise self._no_space("the item")
        return StoreStatus(code)

    def _no_space(self, what: str) -> NoSpace:
        stats = self._native.stats()
        limit: int = stats["limit_bytes"]
        reached = 0 < limit < stats["memory_bytes"] + _PIECE
        return store_no_space(what, self._pool_path, self._path, limit if reached else 0, self._evicts)

    def _count(self, key: bytes, by: int, subtract: bool) -> int | None:
        code, result = self._native.count(_bytes("key", key), whole("by", by, 0, MOST), subtract)
        if code == StoreStatus.MISMATCH:
            raise InvalidArgument(f"the value of {shown(key)} is no decimal number below 2^64: set it to one first")
        return None if self._stored(code) == StoreStatus.NOT_FOUND else result
