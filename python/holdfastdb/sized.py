"""What every kind of table is as a mapping: how many items it has, and one key at a time."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from . import arrays
from .errors import InvalidArgument, InvalidType
from .inspection import no_space
from .messages import shown
from .operands import Key
from .operations import Operations
from .status import Status

_NOT_FOUND, _NO_SPACE = int(Status.NOT_FOUND), int(Status.NO_SPACE)


class Sized(Operations):
    """Operations, how many items there are, and single items by key.

    The native methods with `_one` take keys that are whole numbers or bytes, and values that are bytes. For anything
    else they return NotImplemented, and one batch does it.
    """

    def __len__(self) -> int:
        return int(self._native.size())

    def __contains__(self, key: Any) -> bool:
        one = self._native.has_one(key)
        if one is not NotImplemented:
            return bool(one)
        found = self.contains([key] if isinstance(key, int | np.integer | bytes) else key)
        if found.shape != (1,):
            raise InvalidArgument(f"`in` asks for one key, and got {found.shape[0]}: use contains(keys)")
        return bool(found[0])

    def size(self) -> int:
        """Items in the table; the same as `len`."""
        return len(self)

    def __getitem__(self, key: Key) -> bytes:
        """The value's bytes. Raises KeyError if the key is absent."""
        value = self._value_of(key)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: Key, default: Any = None) -> Any:
        """The value's bytes, or `default` if the key is absent. `find` takes many keys."""
        value = self._value_of(key)
        return default if value is None else value

    def __setitem__(self, key: Key, value: Any) -> None:
        """Adds the key with its value, or replaces the value, as `insert_or_assign` does. Raises NoSpace."""
        status = self._native.put_one(key, value)
        if status is NotImplemented:
            status = self.insert_or_assign(_one_key(key, "insert_or_assign(keys, values)"), _one_row(value))[0]
        if status == _NO_SPACE:
            raise no_space(f"the key {shown(key)}", self._shape.path)

    def __delitem__(self, key: Key) -> None:
        """Removes the key, as `erase` does. Raises KeyError if it is absent."""
        status = self._native.erase_one(key)
        if status is NotImplemented:
            status = self.erase(_one_key(key, "erase(keys)"))[0]
        if status == _NOT_FOUND:
            raise KeyError(key)

    def _value_of(self, key: Any) -> bytes | None:
        value = self._native.find_one(key)
        if value is not NotImplemented:
            return cast("bytes | None", value)
        values, found = self.find(_one_key(key, "find(keys)"))
        return bytes(values[0]) if found[0] else None


def _one_key(key: Any, many: str) -> list[Any]:
    if isinstance(key, bool) or not isinstance(key, int | np.integer | bytes | bytearray):
        raise InvalidType(
            f"key is of type {type(key).__name__}: give one whole number or bytes, or use {many} for many"
        )
    return [key]


def _one_row(value: Any) -> Any:
    """One value as a row of host memory."""
    if value is None:
        return None
    if isinstance(value, bytes | bytearray):
        return [bytes(value)]
    if hasattr(value, "__cuda_array_interface__"):
        raise InvalidType("value is in GPU memory: use insert_or_assign(keys, values), with both there")
    imported = arrays.import_array("value", value)
    row = imported[0] if imported is not None else arrays.from_list("value", value)
    return row.reshape(1, -1)
